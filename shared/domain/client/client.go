// Package client describes a company's clients: machines that act with keys or secrets of their own. A client belongs to a user, its
// owner, and may do no more than the owner. It may be bound to one integration, or act as one executive.
package client

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/user"
	"orgops/shared/identity/assertion"
	"orgops/shared/identity/clientsecret"
)

// Limits of clients. Creations take turns, so that concurrent requests cannot exceed MaxPerCompany.
const (
	MaxPerCompany = 50
	MaxKeys       = 5
	MaxNetworks   = 10
)

// Overlap is how long the secret and the keys that a rotation replaces go on.
const Overlap = 24 * time.Hour

// Draft holds what a founder decides about a client.
type Draft struct {
	Name       string         `json:"name" minLength:"1" maxLength:"100" doc:"names the client in words" example:"Nightly report"`
	Purpose    string         `json:"purpose" minLength:"1" maxLength:"500" doc:"what the client is for" example:"Reads the brief and posts it to the team's channel"`
	Owner      string         `json:"owner" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" patternDescription:"letters, digits and any of _ -" doc:"id of the user who answers for the client; it acts only while this user is active, and does no more than this user may" example:"0198c5f2-7a00-7000-8000-00000000000a"`
	Scopes     []string       `json:"scopes,omitempty" nullable:"false" maxItems:"9" uniqueItems:"true" enum:"mission-control:read,intelligence:read,intelligence:write,integrations:read,memory:read,memory:write,operations:read,executives:read,executives:act" doc:"the scopes of the client's tokens, each of which the owner has; of a client with an executive executives:act alone, which is also what absence means" example:"[\"intelligence:read\"]"`
	Provider   string         `json:"provider,omitempty" maxLength:"64" doc:"the only integration that the client reaches; absent: all" example:"github"`
	Executive  string         `json:"executive,omitempty" maxLength:"64" doc:"id of the executive that the client acts as; absent: none" example:"3f0a7c1e-58d2-8a64-9d0b-0c8a1f6e2b47"`
	Federation *Federation    `json:"federation,omitempty" doc:"an OpenID provider's subject that proves the client without a stored key, such as a CI job"`
	Networks   []netip.Prefix `json:"networks,omitempty" nullable:"false" maxItems:"10" uniqueItems:"true" doc:"where the client's tokens may be asked for and used; absent: everywhere" example:"[\"203.0.113.0/24\"]"`
	ExpiresAt  *time.Time     `json:"expiresAt,omitempty" doc:"when the client ends; absent: never" example:"2030-01-01T00:00:00Z"`
}

// Federation names one subject of an OpenID provider. Each member matches exactly; there are no wildcards.
type Federation struct {
	Issuer   string `json:"issuer" minLength:"1" maxLength:"500" doc:"iss of the provider's tokens, which is its https address" example:"https://token.actions.githubusercontent.com"`
	Subject  string `json:"subject" minLength:"1" maxLength:"500" doc:"sub of the provider's tokens; prefer a form with ids, because a name can be taken over" example:"repo:acme@1234/reports@5678:ref:refs/heads/main"`
	Audience string `json:"audience" minLength:"1" maxLength:"500" doc:"the only aud of the provider's tokens" example:"https://orgops.example.com"`
}

// Client describes one client, as stored. Its secrets are an item of their own.
type Client struct {
	Draft
	ID        string    `json:"id"`
	Keys      []Key     `json:"keys,omitempty"`
	Disabled  bool      `json:"disabled,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`

	// Since is when the executive was created. Another executive may get the same name later, and with it the same id.
	Since time.Time `json:"since,omitzero"`
	// Generation is that of the tokens issued from now on; see user.Ended.
	Generation int64 `json:"generation,omitempty"`
}

// Key holds a registered key.
type Key struct {
	Key       assertion.Key `json:"key"`
	ExpiresAt *time.Time    `json:"expiresAt,omitempty"` // of a key that was replaced
}

// Secret holds what is stored of a secret.
type Secret struct {
	Digest    string     `json:"digest"`
	Hint      string     `json:"hint"` // the last characters
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"` // of a secret that was replaced
}

// NewSecret returns the stored form of a secret.
func NewSecret(text string, now time.Time) Secret {
	return Secret{Digest: clientsecret.Digest(text), Hint: text[len(text)-4:], CreatedAt: now}
}

// New returns the client that a draft asks for.
func New(d Draft, keys []assertion.Key, now time.Time) Client {
	c := Client{Draft: d, ID: id.New(), CreatedAt: now, UpdatedAt: now}
	for _, k := range keys {
		c.Keys = append(c.Keys, Key{Key: k})
	}
	return c
}

// Usable returns "" if the client may get tokens at now, or why it may not.
func (c Client) Usable(now time.Time) string {
	switch {
	case c.Disabled:
		return "the client is disabled"
	case c.ExpiresAt != nil && !now.Before(*c.ExpiresAt):
		return "the client has expired"
	}
	return ""
}

// LiveKeys returns the keys that are accepted at now.
func (c Client) LiveKeys(now time.Time) []assertion.Key {
	var live []assertion.Key
	for _, k := range c.Keys {
		if k.ExpiresAt == nil || now.Before(*k.ExpiresAt) {
			live = append(live, k.Key)
		}
	}
	return live
}

// LiveSecrets returns the secrets that are accepted at now.
func LiveSecrets(all []Secret, now time.Time) []Secret {
	return slices.DeleteFunc(slices.Clone(all), func(s Secret) bool { return s.ExpiresAt != nil && !now.Before(*s.ExpiresAt) })
}

// Taken returns a problem for each new key with the kid of a key that is accepted now and goes on.
func (c Client) Taken(keys []assertion.Key, now time.Time, endFormer bool) []fault.FieldError {
	if endFormer {
		return nil
	}
	var problems []fault.FieldError
	for n, k := range keys {
		if slices.ContainsFunc(c.LiveKeys(now), func(live assertion.Key) bool { return live.ID() == k.ID() }) {
			problems = append(problems, fault.FieldError{Pointer: fmt.Sprintf("/keys/%d", n), Detail: "has the kid of a key that goes on; give it another kid"})
		}
	}
	return problems
}

// RotateKeys returns the client with new keys. The current ones go on until end, and older ones until their own end, at most MaxKeys of
// each. With an end that is now, all former ones end.
func (c Client) RotateKeys(keys []assertion.Key, now, end time.Time) Client {
	next := make([]Key, 0, len(keys)+len(c.Keys))
	for _, k := range keys {
		next = append(next, Key{Key: k})
	}
	for _, k := range c.Keys {
		if k.ExpiresAt = lasts(k.ExpiresAt, now, end); k.ExpiresAt != nil && len(next) < len(keys)+MaxKeys {
			next = append(next, k)
		}
	}
	c.Keys, c.UpdatedAt = next, now
	return c
}

// lasts returns until when a former secret or key goes on that had an end, or none; nil if it ends now.
func lasts(had *time.Time, now, end time.Time) *time.Time {
	switch {
	case !now.Before(end):
		return nil
	case had == nil:
		return &end
	case !now.Before(*had):
		return nil
	}
	return had
}

// maxFormer limits the former secrets that go on.
const maxFormer = 4

// RotateSecret returns the secrets with a new one in front. The current one goes on until end, and older ones until their own end. With an
// end that is now, all former ones end.
func RotateSecret(all []Secret, s Secret, now, end time.Time) []Secret {
	next := []Secret{s}
	for _, former := range all {
		if former.ExpiresAt = lasts(former.ExpiresAt, now, end); former.ExpiresAt != nil && len(next) <= maxFormer {
			next = append(next, former)
		}
	}
	return next
}

// ClientID returns the client_id by which the client asks for tokens. It names the company, because nothing else of such a request
// does.
func (c Client) ClientID(companyID string) string { return companyID + "." + c.ID }

// lenID is the length of a UUID. A shorter text would be the prefix of many ids.
const lenID = 36

// Split returns the parts of a client_id. ok is false for a text that no client has.
func Split(clientID string) (companyID, own string, ok bool) {
	companyID, own, ok = strings.Cut(clientID, ".")
	return companyID, own, ok && id.Valid(companyID) && id.Valid(own) && len(own) == lenID
}

// ScopesOf returns the scopes of the client's tokens while its owner has a role. reads are those that its executive declares.
func (c Client) ScopesOf(owner user.Role, reads []string) []string {
	held := owner.Scopes()
	wanted := c.Scopes
	if c.Executive != "" {
		wanted = reads
	}
	scopes := slices.DeleteFunc(slices.Clone(wanted), func(s string) bool { return !slices.Contains(held, s) || !slices.Contains(Grantable(), s) })
	if c.Executive != "" && slices.Contains(held, user.ScopeExecutivesWrite) {
		scopes = append(scopes, user.ScopeExecutivesAct)
	}
	return scopes
}

// Grantable lists the scopes that a client may have. It never configures, certifies, approves, or manages users, clients or policies.
func Grantable() []string {
	return []string{
		user.ScopeMissionControlRead, user.ScopeIntelligenceRead, user.ScopeIntelligenceWrite, user.ScopeIntegrationsRead,
		user.ScopeMemoryRead, user.ScopeMemoryWrite, user.ScopeOperationsRead, user.ScopeExecutivesRead,
	}
}

// Revision identifies one version of one client.
func (s Stored) Revision() string {
	return fmt.Sprintf("%d-%x", s.Version, s.CreatedAt.UnixMilli())
}
