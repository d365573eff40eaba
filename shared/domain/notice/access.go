package notice

import (
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/user"
)

// Invitation names the notice that brings an invitation.
const Invitation = "invitation"

// Invited returns the notice that brings an invited user the code. The caller seals the code for it.
func Invited(u user.User, company string) Stored {
	company = Plain(company)
	if company == "" {
		company = "a company"
	}
	return Stored{CodePath: "/console/#/invitation", Until: *u.InvitedUntil, Notice: access(u, Invitation, "Invitation to "+company,
		"A user of "+company+" invited this address."), Content: Content{
		Paragraphs: []string{
			"You are invited to " + company + ". Choose a password and type the code below. It works once.",
			"If you do not know " + company + ", ignore this mail. Nothing happens then.",
		},
		Facts: []Fact{{Name: "Your role", Value: string(u.Role)}, {Name: "The code works until", At: *u.InvitedUntil}},
	}}
}

// access returns a notice about a user's own access.
func access(u user.User, name, subject, why string) Notice {
	return Notice{
		ID: id.At(u.CreatedAt, u.ID, name), Kind: Security, Name: name, UserID: u.ID, Channel: Mail, About: "user:" + u.ID, Subject: subject, Why: why,
		State: Waiting, CreatedAt: u.CreatedAt.UTC().Truncate(time.Millisecond), DueAt: u.CreatedAt.UTC(),
	}
}
