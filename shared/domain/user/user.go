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
)

// Entity and Prefix name the entity of a user's item and the prefix of its key.
const (
	Entity = "user"
	Prefix = "USER#"
)

// LoginEntity and LoginKey name the entity and the key of a login, in the partition store.Login of its e-mail address.
const (
	LoginEntity = "login"
	LoginKey    = "LOGIN"
)

// The longest name, in characters, and the longest e-mail address, in bytes (RFC 5321 §4.5.3.1.3, without the brackets).
const (
	MaxName  = 200
	MaxEmail = 254
)

// User describes one user, as stored and as the API shows it.
type User struct {
	ID        string    `json:"id" format:"uuid" doc:"UUIDv7"`
	Email     string    `json:"email" example:"ada@example.com"`
	Name      string    `json:"name,omitempty"`
	Role      Role      `json:"role" enum:"founder,member,operator,integration"`
	Provider  string    `json:"provider,omitempty" doc:"the only integration that a user with the role integration reaches"`
	CreatedAt time.Time `json:"createdAt"`
}

// Login leads from an e-mail address to a user. The store keeps only a hash of the address, as the partition of the login.
type Login struct {
	CompanyID    string `json:"companyId"`
	UserID       string `json:"userId"`
	PasswordHash string `json:"passwordHash"` // PHC string
	Role         Role   `json:"role"`
	Provider     string `json:"provider,omitempty"` // of the role Integration
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
