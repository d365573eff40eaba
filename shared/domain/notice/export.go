package notice

import (
	"cmp"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/user"
)

// Exported returns the notice that tells a user that everything of the company was exported, by a user. It comes once a day.
func Exported(companyID, company string, to, by user.User, now time.Time) Stored {
	const name = "export-ready"
	company = Plain(company)
	n := access(to, name, "An export of "+company+" is complete", "You are a founder, and an export has everything that the company has.")
	if to.ID == by.ID {
		n.Subject, n.Why = "Your export of "+company+" is ready", "The export was made in your name."
	}
	n.ID, n.About = id.At(now.Truncate(24*time.Hour), companyID, to.ID, name, by.ID), "export:"+by.ID
	n.CreatedAt, n.DueAt = now.UTC().Truncate(time.Millisecond), now.UTC()
	return Stored{Notice: n, Content: Content{
		Paragraphs: []string{
			"The last page of an export was fetched. An export has everything that the company has, but no secrets.",
			"If it was made by a person who should not have it, end their sessions and look at the audit log.",
		},
		Facts: []Fact{{Name: "Exported by", Value: cmp.Or(Plain(by.Name), by.ID)}, {Name: "When", At: now}},
		Link:  &Link{"Sign in and look", "/console/#/operations/audit"},
	}}
}
