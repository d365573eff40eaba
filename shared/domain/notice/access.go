package notice

import (
	"strconv"
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

// PasswordReset names the notice that brings the code of a password's reset.
const PasswordReset = "password-reset"

// Nowhere is the company of the notices about addresses that no person has. A request for a reset writes the same for every address, so
// that it takes the same time. The notifier removes these notices.
const Nowhere = "nowhere"

// ResetOf returns the notice that will bring the code of a reset to a user. The notifier makes the code when it sends the mail.
// nth tells the resets of one address apart.
func ResetOf(companyID, userID string, nth int64, asked time.Time) Stored {
	return Stored{CodePath: "/console/#/reset", Notice: Notice{
		ID: id.At(asked, companyID, userID, PasswordReset, strconv.FormatInt(nth, 10)), Kind: Security, Name: PasswordReset, UserID: userID, Channel: Mail, About: "user:" + userID,
		Subject: "Set a new password", Why: "A reset of the password of this e-mail address was asked for.",
		State: Waiting, CreatedAt: asked.UTC().Truncate(time.Millisecond), DueAt: asked.UTC(),
	}}
}

// Awaits reports whether the code of the notice is still to be made.
func (n Stored) Awaits() bool { return n.Name == PasswordReset && len(n.Code) == 0 }

// Bring adds the sealed code of a reset, which works until a time.
func (n *Stored) Bring(code []byte, until time.Time) {
	n.Code, n.Until = code, until
	n.Content = Content{
		Paragraphs: []string{
			"Someone asked to reset the password of this e-mail address. Type the code below and choose a new password. The code works once.",
			"If that was not you, ignore this mail. Your password stays as it is.",
		},
		Facts: []Fact{{Name: "The code works until", At: until}},
	}
}

const newSignIn = "new-sign-in"

// SignedIn returns the notice of a login from a network or a browser that the user has not used before.
func SignedIn(companyID, userID, network, browser string, now time.Time) Stored {
	facts := []Fact{{Name: "Time", At: now}, {Name: "Browser", Value: browser}}
	if network != "" {
		facts = append(facts, Fact{Name: "Network", Value: network})
	}
	at := now.UTC().Truncate(time.Millisecond)
	return Stored{Notice: Notice{
		ID: id.At(now, companyID, userID, newSignIn, network, browser), Kind: Security, Name: newSignIn, UserID: userID, Channel: Mail, About: "user:" + userID,
		Subject: "New sign-in", Why: "Your password was used from a network or a browser that was not used before.", State: Waiting, CreatedAt: at, DueAt: at,
	}, Content: Content{
		Paragraphs: []string{
			"Your password was used to sign in, from a network or a browser that was not used before.",
			"If that was not you, choose a new password. That ends all your sessions.",
		},
		Facts: facts, Link: &Link{Label: "Choose a new password", Path: "/console/#/lost"},
	}}
}
