package notice

import (
	"encoding/json"
	"time"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Job asks the notifier for work. It has exactly one of Notice, Matter, Approval, Ended, Provider and Exporter.
type Job struct {
	Company  string    `json:"company"`
	Notice   string    `json:"notice,omitempty"`   // the id of a notice to send
	Matter   *Matter   `json:"matter,omitempty"`   // a matter to tell
	Approval string    `json:"approval,omitempty"` // the id of an approval to remind of, if it still waits
	Step     int       `json:"step,omitempty"`     // of the reminder, from 1
	Ended    string    `json:"ended,omitempty"`    // the id of an approval that has ended, for the messages that ask for it
	Provider string    `json:"provider,omitempty"` // an integration of which something expires, unless that was renewed
	Expires  time.Time `json:"expires,omitzero"`   // when
	Exporter string    `json:"exporter,omitempty"` // the id of a user who has read the last page of an export
	At       time.Time `json:"at,omitzero"`        // when
}

// Message returns the queue message of a job.
func (j Job) Message(due time.Time) (queue.Message, error) {
	body, err := json.Marshal(j)
	return queue.Message{Body: body, Group: j.Company, Due: due}, err
}

// Due returns the messages that a committed change requires: a new notice is sent when it is due, what people must know is told to
// them at once, and what expires is looked at before.
func Due(c store.Change) ([]queue.Message, error) {
	if c.New == nil {
		return nil, nil
	}
	switch c.Entity {
	case Entity:
		var n Stored
		if err := json.Unmarshal(c.New.Body, &n); err != nil || n.State != Waiting {
			return nil, err
		}
		return messages(n.DueAt, Job{Company: c.Company, Notice: n.ID})
	case approval.Entity:
		var a approval.Approval
		if err := json.Unmarshal(c.New.Body, &a); err != nil {
			return nil, err
		}
		return ofApproval(c, a)
	case integration.Entity:
		return ofIntegration(c)
	case audit.Entity:
		return ofRecord(c)
	}
	return nil, nil
}

// ofApproval returns the messages about an approval that is new, or has ended.
func ofApproval(c store.Change, a approval.Approval) ([]queue.Message, error) {
	pending := a.State == approval.Pending
	switch {
	case c.Old == nil && pending:
		return asked(c.Company, a)
	case c.Old == nil || pending:
		return nil, nil
	}
	jobs := []Job{{Company: c.Company, Ended: a.ID}}
	if a.State == approval.Expired {
		jobs = append(jobs, Job{Company: c.Company, Matter: new(Expired(a))})
	}
	return messages(time.Time{}, jobs...)
}

// asked returns the messages about a new approval: the request, and the reminders, in case it waits long.
func asked(company string, a approval.Approval) ([]queue.Message, error) {
	matter := Asked(a, 0)
	all, err := messages(time.Time{}, Job{Company: company, Matter: &matter})
	for step, after := range Reminders() {
		if err != nil {
			return nil, err
		}
		var m queue.Message
		m, err = Job{Company: company, Approval: a.ID, Step: step + 1}.Message(a.RequestedAt.Add(after))
		all = append(all, m)
	}
	return all, err
}

func messages(due time.Time, jobs ...Job) (all []queue.Message, err error) {
	for _, j := range jobs {
		m, err := j.Message(due)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}
