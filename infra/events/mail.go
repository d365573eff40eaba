package events

import "orgops/infra/data"

// mails connects the notifier.
func (e *Events) mails(p Props) {
	p.Data.Read(e.Notifier, data.Companies, data.Logins)
	p.Data.Write(e.Notifier, data.Companies, data.Timers, data.Logins) // it makes the codes of resets
	p.Data.Seal(e.Notifier)
	e.Notices.WorkedBy(e.Notifier)
	p.API.Issue(e.Notifier)
	e.Notifier.Mails(p.Functions)
}
