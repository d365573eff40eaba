package user

import (
	"strings"
	"time"
)

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
	Seen         Seen     `json:"seen,omitzero"`  // where the person has logged in from

	Factors   []Factor `json:"factors,omitempty"`
	Enrolling *Factor  `json:"enrolling,omitempty"` // waits for its first code
	Recovery  []string `json:"recovery,omitempty"`  // digests of the recovery codes that are left
	Wrong     *Wrong   `json:"wrong,omitempty"`     // nil: no wrong code since the last right one
}

// Factor is a second factor of a person.
type Factor struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"` // FactorTOTP, FactorPasskey
	Name      string    `json:"name,omitempty"`
	Secret    []byte    `json:"secret,omitempty"`    // of FactorTOTP, sealed
	Step      int64     `json:"step,omitempty"`      // of FactorTOTP: the last one whose code was used
	Passkey   *Passkey  `json:"passkey,omitempty"`   // of FactorPasskey
	Challenge []byte    `json:"challenge,omitempty"` // of FactorPasskey, while it waits for its registration
	CreatedAt time.Time `json:"createdAt"`
	UsedAt    time.Time `json:"usedAt,omitzero"`
}

// Passkey holds the public part of a passkey. See passkey.Key.
type Passkey struct {
	ID         []byte   `json:"id"`
	PublicKey  []byte   `json:"publicKey"`
	Counter    uint32   `json:"counter,omitempty"`
	Syncs      bool     `json:"syncs,omitempty"`
	Transports []string `json:"transports,omitempty"`
}

// The kinds of factors. A RecoveryCode is not enrolled: each person with a factor has such codes.
const (
	FactorTOTP    = "totp"
	FactorPasskey = "passkey"
	RecoveryCode  = "recovery-code"
)

// Wrong counts the wrong codes of a person since a time.
type Wrong struct {
	Count int       `json:"count"`
	Since time.Time `json:"since"`
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
