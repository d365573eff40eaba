// Package grant describes what third parties may do in a company because one of its people allowed it (RFC 6749 §1.3): the grants, the
// codes that lead to them, and the refresh tokens by which they go on.
package grant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// Entity and Prefix name the entity of a grant's item and the prefix of its key.
const (
	Entity = "grant"
	Prefix = "GRANT#"
)

// MaxPerCompany limits the grants of a company. Grants take turns, so that concurrent ones cannot exceed it.
const MaxPerCompany = 200

// MaxPerUser limits the grants of a user. Another one ends the one of the user that was used longest ago, because a program that asks at
// each of its starts leaves many behind.
const MaxPerUser = 20

// Idle is how long a grant goes on without a new token, and Lifetime how long it goes on at most.
const (
	Idle     = 30 * 24 * time.Hour
	Lifetime = 365 * 24 * time.Hour
)

// Client describes a third party as its document described it when a person allowed it.
type Client struct {
	ID   string `json:"id"` // the client_id, which is the address of the document
	Name string `json:"name"`
	Host string `json:"host"` // of the client_id: what tells one third party from another
}

// Grant holds what a third party may do.
type Grant struct {
	ID         string    `json:"id"`
	Client     Client    `json:"client"`
	UserID     string    `json:"userId"`               // who allowed it, and for whom it acts, unless it acts as an executive
	Provider   string    `json:"provider,omitempty"`   // the only integration that the user reaches
	Executive  string    `json:"executive,omitempty"`  // as which it acts; "": for the user
	Generation int64     `json:"generation,omitempty"` // of the user's tokens when it was allowed: what ends those ends the grant
	Since      time.Time `json:"since,omitzero"`       // when the executive was created; a later one may have the same id
	Scopes     []string  `json:"scopes,omitempty"`     // of a grant that acts for the user
	Resource   string    `json:"resource,omitempty"`   // the only address that its tokens open; "": the API
	Strong     bool      `json:"strong,omitempty"`     // a session allowed it that had proved a second factor, or that an identity provider began
	CreatedAt  time.Time `json:"createdAt"`
	LastUsedAt time.Time `json:"lastUsedAt"`
	ExpiresAt  time.Time `json:"expiresAt"`

	Family  string `json:"family"`           // digest of what all refresh tokens of the grant have in common
	Refresh string `json:"refresh"`          // digest of the rest of the newest token, which alone counts
	Former  string `json:"former,omitempty"` // digest of the rest of the token before it
}

// Used returns the grant after a token was given at a time.
func (g Grant) Used(now time.Time) Grant {
	g.LastUsedAt, g.ExpiresAt = now, now.Add(Idle)
	if end := g.CreatedAt.Add(Lifetime); end.Before(g.ExpiresAt) {
		g.ExpiresAt = end
	}
	return g
}

// Stored carries a grant and the version of its item.
type Stored struct {
	Grant
	Version int64
}

func keyOf(grantID string) string { return Prefix + grantID }

// Load reads a grant that has not expired. It returns fault.NotFound for an id that no grant has.
func Load(ctx context.Context, c store.Company, grantID string, now time.Time) (Stored, error) {
	missing := fault.New(fault.NotFound, "there is no grant with this id")
	var s Stored
	if !id.Valid(grantID) {
		return s, missing
	}
	item, err := c.Get(ctx, keyOf(grantID), &s.Grant)
	if errors.Is(err, store.ErrNotFound) || err == nil && !now.Before(s.ExpiresAt) {
		return Stored{}, missing
	}
	s.Version = item.Version
	return s, store.Fault(err, "")
}

// List reads the grants of a company that have not expired, the oldest first.
func List(ctx context.Context, c store.Company, now time.Time) ([]Stored, error) {
	var all []Stored
	for item, err := range c.Items(ctx, store.Query{Prefix: Prefix}) {
		if err != nil {
			return nil, store.Fault(err, "")
		}
		s := Stored{Version: item.Version}
		if err := item.Decode(&s.Grant); err != nil {
			return nil, fmt.Errorf("%s: %w", item.Key, err)
		}
		if now.Before(s.ExpiresAt) {
			all = append(all, s)
		}
	}
	return all, nil
}

// Save returns the write of a grant, which expires with it. It stays out of the change feed, because nothing is derived from grants.
func (s Stored) Save(c store.Company) store.Op {
	return c.Save(keyOf(s.ID), Entity, s.Version, s.Grant).Quietly().Until(s.ExpiresAt)
}

// End returns the writes that remove a grant and end its tokens.
func (s Stored) End(ctx context.Context, c store.Company, now time.Time) ([]store.Op, error) {
	end, err := user.EndTokens(ctx, c, s.ID, 1, now)
	return []store.Op{c.Delete(keyOf(s.ID), Entity, s.Version).Quietly(), end}, err
}

// Tell returns the entry of the timeline that tells what a person, or the service, did to a third party's access.
func (g Grant) Tell(kind timeline.Kind, actor timeline.Reference, what string, now time.Time) timeline.Entry {
	return timeline.Entry{
		ID: timeline.ID(now, kind, g.ID, now.String()), At: now, Kind: kind, Title: g.Client.Name + " (" + g.Client.Host + ") " + what,
		Actor: actor, Subject: timeline.Reference{Type: Entity, ID: g.ID},
	}
}
