package user

import "strings"

// PersonEntity names the entity of a person. ProvenKey is the key of the proven person of an e-mail address, in the partition of the
// address, and PersonPrefix begins those of the others.
const (
	PersonEntity = "person"
	ProvenKey    = "PERSON"
	PersonPrefix = ProvenKey + "#"
)

// MaxMemberships is the number of companies that a person may belong to. A new password ends the tokens of all in one commit.
const MaxMemberships = 40

// Person holds what a person has in all companies alike: a password. A login leads to a person by its field Person. The operator of the
// service proves the address of a person, or a code that was delivered to it does. Any company can invite an address and accept, so an
// address may have unproven persons too, each with the password of its own that accepted.
type Person struct {
	ID           string   `json:"id"`
	PasswordHash string   `json:"passwordHash"` // PHC string; "": no password leads to the person
	Proven       bool     `json:"proven,omitempty"`
	Companies    []string `json:"companies"`      // the ids of those that the person belongs to; a person without any is removed
	Last         string   `json:"last,omitempty"` // the company that was used last
}

// Key returns the key of a person. An address has one proven person, so two who are proven at once conflict.
func (p Person) Key() string {
	if p.Proven {
		return ProvenKey
	}
	return PersonPrefix + p.ID
}

// IsPerson reports whether a key is that of a person.
func IsPerson(key string) bool { return key == ProvenKey || strings.HasPrefix(key, PersonPrefix) }
