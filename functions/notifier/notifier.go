// Package notifier tells people what happened. It takes jobs from the queue: it stores a notice for each person whom a matter concerns,
// and sends a notice when it is due.
//
// On AWS the queue also has what SES tells about mails that came back or were unwanted: no more mails go to those addresses, except the code of a reset.
//
// Every state is in the store: the notice, and the person's box with what they were told. A worker claims a notice before it sends it.
// If the worker is lost after that, the next one sends the mail again under the same Message-ID.
package notifier

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"
	_ "time/tzdata" // a Lambda has no zones of its own

	"orgops/shared/base/fault"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/company"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/run/boot"
	"orgops/shared/storage/mail"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/slack"
)

// Notifier tells people. All fields are required except Sender.
type Notifier struct {
	Store  store.Store
	Queue  queue.Queue
	Vault  integration.Vault
	Sender mail.Sender // nil: the service has no mail settings, and no mail is sent
	Slack  slack.Client
	Base   string // the service's address, without a slash at the end
	Logger *slog.Logger
	Now    func() time.Time
}

// From makes a notifier from the service's parts.
func From(s *boot.Services) *Notifier {
	return &Notifier{Store: s.Store, Queue: s.Notices, Vault: s.Vault, Sender: s.Mail, Slack: s.Slack(), Base: s.Base, Logger: s.Logger, Now: s.Now}
}

// Limits of a worker: the messages in hand, and how long a message is hidden from others. A mail takes at most half a minute.
const (
	workers = 8
	lease   = 3 * time.Minute
)

// Run handles jobs until ctx ends, then waits for the mails in flight.
func (n *Notifier) Run(ctx context.Context) { n.Worker().Run(ctx) }

// Worker returns the worker that takes jobs from the queue and settles them.
func (n *Notifier) Worker() queue.Worker {
	return queue.Worker{Queue: n.Queue, Handle: n.Handle, Logger: n.Logger, Lease: lease, Slots: workers, Take: 1}
}

// Handle does one job. due tells when to redeliver the message; zero means never.
func (n *Notifier) Handle(ctx context.Context, r queue.Received) (due time.Time, err error) {
	var job notice.Job
	if err := json.Unmarshal(r.Body, &job); err != nil {
		return time.Time{}, queue.ErrPoison
	}
	if job.Company == "" {
		return time.Time{}, n.returned(ctx, r.Body)
	}
	c := store.For(n.Store, job.Company)
	switch {
	case job.Notice != "":
		return n.send(ctx, c, job.Notice)
	case job.Matter != nil:
		return time.Time{}, n.tell(ctx, c, *job.Matter)
	case job.Approval != "":
		return time.Time{}, n.remind(ctx, c, job)
	case job.Ended != "":
		return n.lock(ctx, c, job.Ended)
	case job.Provider != "":
		return time.Time{}, n.expiring(ctx, c, job)
	case job.Exporter != "":
		return time.Time{}, n.exported(ctx, c, job)
	}
	return time.Time{}, queue.ErrPoison
}

// remind tells an approval again that still waits.
func (n *Notifier) remind(ctx context.Context, c store.Company, job notice.Job) error {
	a, waits, err := n.waiting(ctx, c, job.Approval)
	if err != nil || !waits || job.Step < 1 || job.Step > len(notice.Reminders()) {
		return err
	}
	return n.tell(ctx, c, notice.Asked(a, job.Step))
}

// waiting reads an approval and reports whether it can still be decided.
func (n *Notifier) waiting(ctx context.Context, c store.Company, approvalID string) (a approval.Approval, waits bool, err error) {
	_, err = c.Get(ctx, approval.Key(approvalID), &a)
	if errors.Is(err, store.ErrNotFound) {
		return a, false, nil
	}
	return a, err == nil && a.IsPending(n.Now()), err
}

// expiring tells of something of an integration that soon expires.
func (n *Notifier) expiring(ctx context.Context, c store.Company, job notice.Job) error {
	i, _, err := integration.Load(ctx, c, job.Provider)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	m, ok := notice.Expiring(i, job.Expires, n.Now())
	if !ok {
		return nil
	}
	return n.tell(ctx, c, m)
}

// exported tells the founders of an export.
func (n *Notifier) exported(ctx context.Context, c store.Company, job notice.Job) error {
	by, _, err := company.GetUser(ctx, c, job.Exporter)
	if fault.KindOf(err) == fault.NotFound {
		by, err = user.User{ID: job.Exporter}, nil // who has left since
	}
	if err != nil {
		return err
	}
	firm, _, err := company.Get(ctx, c)
	if fault.KindOf(err) == fault.NotFound {
		return nil // it was erased
	}
	if err != nil {
		return err
	}
	for _, m := range notice.Exported(firm.Name, by, job.At) {
		if err := n.tell(ctx, c, m); err != nil {
			return err
		}
	}
	return nil
}
