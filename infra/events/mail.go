package events

import "orgops/infra/data"

// mails connects the notifier.
func (e *Events) mails(p Props) {
	p.Data.Read(e.Notifier, data.Companies)
	p.Data.Write(e.Notifier, data.Companies, data.Timers)
	p.Data.Unseal(e.Notifier)
	e.Notices.WorkedBy(e.Notifier)
	p.API.Issue(e.Notifier)
	e.Notifier.Mails(p.Functions)
}
