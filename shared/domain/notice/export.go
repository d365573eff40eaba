package notice

import (
	"cmp"
	"encoding/json"
	"time"

	"orgops/shared/domain/audit"
	"orgops/shared/domain/export"
	"orgops/shared/domain/user"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// ofRecord returns the message about a record of the audit log: that a person has read the last page of an export. The exports of a client
// are its work.
func ofRecord(c store.Change) ([]queue.Message, error) {
	var r audit.Record
	if err := json.Unmarshal(c.New.Body, &r); err != nil {
		return nil, err
	}
	if c.Old != nil || r.Operation != export.Operation || r.Resource != export.Complete || r.Outcome != "success" || r.Actor.UserID == "" {
		return nil, nil
	}
	return messages(time.Time{}, Job{Company: c.Company, Exporter: r.Actor.UserID, At: r.At})
}

// Exported returns the matters that tell the founders that everything of the company was exported by a user: the user, and the others.
func Exported(company string, by user.User, at time.Time) []Matter {
	company = Plain(company)
	own := Matter{
		Kind: Security, Name: "export-ready", About: "export:" + by.ID, At: at, To: []user.Role{user.Founder}, Only: by.ID,
		Subject: "Your export of " + company + " is ready", Why: "The export was made in your name.",
		Content: Content{
			Paragraphs: []string{
				"The last page of an export was fetched. An export has everything that the company has, but no secrets.",
				"If it was made by a person who should not have it, end their sessions and look at the audit log.",
			},
			Facts: []Fact{{Name: "Exported by", Value: cmp.Or(Plain(by.Name), by.ID)}, {Name: "When", At: at}},
			Link:  &Link{"Sign in and look", "/console/#/operations/audit"},
		},
	}
	others := own
	others.Only, others.Except = "", by.ID
	others.Subject, others.Why = "An export of "+company+" is complete", "You are a founder, and an export has everything that the company has."
	return []Matter{own, others}
}
