// Package user describes the people and machines that act in a company: their roles, the scopes of each role, and logins.
package user

import (
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/storage/store"
)

// Entity and Prefix name the entity of a user's item and the prefix of its key.
const (
	Entity = "user"
	Prefix = "USER#"
)

// LoginEntity names the entity of a login, and LoginPrefix begins its key. FormerLoginKey is the only key that logins had in release
// 0.1.0.
const (
	LoginEntity    = "login"
	LoginPrefix    = FormerLoginKey + "#"
	FormerLoginKey = "LOGIN"
)

// LoginKey returns the key of a company's login, in the partition of its e-mail address or identity. Each company has its own, so no
// company can keep an address from another.
func LoginKey(companyID string) string { return LoginPrefix + companyID }

// IsLogin reports whether a key is that of a login.
func IsLogin(key string) bool { return key == FormerLoginKey || strings.HasPrefix(key, LoginPrefix) }

// The longest name, in characters, and the longest e-mail address, in bytes (RFC 5321 §4.5.3.1.3, without the brackets).
const (
	MaxName  = 200
	MaxEmail = 254
)

// State says whether a user can log in.
type State string

// The states of a user.
const (
	Active   State = "active"
	Invited  State = "invited"  // has not accepted the invitation; the user's item expires with it
	Disabled State = "disabled" // cannot log in, and has no valid token
)

// MailRefusal says why no more mails go to a user.
type MailRefusal string

// The causes of a MailRefusal.
const (
	MailRefused    MailRefusal = "refused"    // the mail host of the address knows no such mailbox
	MailBounced    MailRefusal = "bounced"    // a mail came back for good
	MailComplained MailRefusal = "complained" // the reader reported a mail as unwanted
)

// User describes one user, as stored and as the API shows it.
type User struct {
	ID           string     `json:"id" format:"uuid" doc:"UUIDv7"`
	Email        string     `json:"email" format:"email" doc:"the address that the user logs in with" example:"ada@example.com"`
	Name         string     `json:"name,omitempty" doc:"the user's name" example:"Ada Lovelace"`
	Role         Role       `json:"role" enum:"founder,member,operator,integration" doc:"decides the scopes of the user's tokens"`
	Provider     string     `json:"provider,omitempty" doc:"the only integration that a user with the role integration reaches"`
	State        State      `json:"state" enum:"active,invited,disabled" doc:"invited: has not accepted the invitation yet; disabled: cannot log in"`
	Identity     string     `json:"identity,omitempty" doc:"set for a user who signs in through the company's identity provider and has no password: a digest of the issuer and its name for the user" example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	InvitedUntil *time.Time `json:"invitedUntil,omitempty" doc:"when the invitation expires, and the user with it; absent once it is accepted"`
	CreatedAt    time.Time  `json:"createdAt" doc:"when the user was added or invited"`
	// MailRefusedAt is set by the notifier, when the address turns out to lead to no mailbox or its reader wants no mails.
	MailRefusedAt   *time.Time  `json:"mailRefusedAt,omitempty" doc:"when a mail to the address was refused for good, came back or was reported as unwanted; no more mails go to it, until resumeMails, except the code of a password reset"`
	MailRefusedWith MailRefusal `json:"mailRefusedWith,omitempty" enum:"refused,bounced,complained" doc:"why no more mails go to the address; refused: its mail host knows no such mailbox; bounced: a mail came back for good; complained: its reader reported a mail as unwanted"`
	Since           time.Time   `json:"since,omitzero" doc:"since when the user has had this role and this state: the user decides only on approvals that were asked for later; absent: since createdAt"`
}

// Decides reports whether the user may have a part in what was asked for at a time: as the one who asked or as the one who decides.
// An accepted invitation, a new role and enabling begin a user's time, so no one who asks can make a second person afterwards.
func (u User) Decides(asked time.Time) bool {
	since := u.CreatedAt
	if !u.Since.IsZero() {
		since = u.Since
	}
	return u.State == Active && since.Before(asked.Truncate(time.Millisecond)) // as precise as since is
}

// Same reports whether two users are one person, as far as their e-mail addresses tell.
func (u User) Same(other User) bool {
	return u.ID == other.ID || store.Login(u.Email) == store.Login(other.Email)
}

// Active reports whether the user can log in. Users that were stored before users had states can.
func (u User) Active() bool { return u.State == Active || u.State == "" }

// Founds reports whether the user counts as a founder of the company: one who can log in.
func (u User) Founds() bool { return u.Role == Founder && u.State == Active }

// LoginPartition returns the partition of the user's login: that of the identity at a provider, or of the e-mail address.
func (u User) LoginPartition() store.Partition {
	if u.Identity != "" {
		return store.Identity(u.Identity)
	}
	return store.Login(u.Email)
}

// Awaited reports whether the user is an operator who was invited and has not signed in.
func (u User) Awaited() bool { return u.Role == Operator && u.State == Invited }

// Words lists what a password of the user must not consist of: parts of the name and of the e-mail address.
func Words(email, name string) []string {
	return append(strings.FieldsFunc(email, func(r rune) bool { return strings.ContainsRune("@.+-_", r) }), strings.Fields(name)...)
}

// Login leads from an e-mail address to a user: it makes a Person a member of a company. The store keeps only a hash of the address, as
// the partition of the login.
type Login struct {
	CompanyID    string `json:"companyId"`
	UserID       string `json:"userId"`
	Person       string `json:"person,omitempty"` // the id of the Person; "": the login was stored before there were any
	PasswordHash string `json:"passwordHash"`     // PHC string of a login without a Person; otherwise ""
	Role         Role   `json:"role"`
	Provider     string `json:"provider,omitempty"`   // of the role Integration
	Disabled     bool   `json:"disabled,omitempty"`   // refuses the login
	Generation   int64  `json:"generation,omitempty"` // of the tokens issued from now on; see Ended
}

// Scopes returns the scopes of the user's tokens. A user with the role Integration and without a provider has none.
func (l Login) Scopes() []string {
	if l.Role == Integration && l.Provider == "" {
		return nil
	}
	return l.Role.Scopes()
}

// Key returns the sort key of a user.
func Key(userID string) string { return Prefix + userID }

// CheckProvider refuses a user with the role Integration and without a provider, and a provider of any other role.
func CheckProvider(role Role, provider, pointer string) []fault.FieldError {
	switch {
	case role == Integration && !id.Valid(provider):
		return []fault.FieldError{{Pointer: pointer, Detail: "must name the integration that the user may reach, such as github"}}
	case role != Integration && provider != "":
		return []fault.FieldError{{Pointer: pointer, Detail: "only a user with the role integration has a provider"}}
	}
	return nil
}

// CheckEmail refuses anything but one bare e-mail address.
func CheckEmail(email, pointer string) []fault.FieldError {
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || len(email) > MaxEmail || !printable(email) {
		return []fault.FieldError{{Pointer: pointer, Detail: "must be one e-mail address, such as ada@example.com, of at most 254 bytes"}}
	}
	return nil
}

// CheckName refuses a name longer than MaxName, a name with control characters and, where required, an empty name.
func CheckName(name, pointer string, required bool) []fault.FieldError {
	n := utf8.RuneCountInString(name)
	if n > MaxName || !printable(name) || required && strings.TrimSpace(name) == "" {
		return []fault.FieldError{{Pointer: pointer, Detail: "needs 1 to 200 printable characters"}}
	}
	return nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
