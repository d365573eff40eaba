// Package executive describes a company's executives: automated agents that ask for actions. An executive declares the
// actions that it may ask for. Until it is certified, what it asks for is only tried.
package executive

import (
	"context"
	"fmt"
	"slices"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
)

// Entity and Prefix name the entity of an executive's item and the prefix of its key.
const (
	Entity = "executive"
	Prefix = "EXECUTIVE#"
)

// MaxPerCompany limits how many executives a company may have. Creations take turns, so that
// concurrent requests cannot exceed the limit.
const MaxPerCompany = 50

// DefaultQuota is the quota of an executive whose draft names none. The tag of Draft.QuotaPerDay repeats it.
const DefaultQuota = 100

// MaxQuota limits the actions that an executive may ask for in a day.
const MaxQuota = 1000

// CertifiedFor limits how long a certification holds.
const CertifiedFor = 90 * 24 * time.Hour

// State says whether an executive's actions take effect.
type State string

// The states.
const (
	Sandbox   State = "sandbox"   // its actions are tried, and take no effect
	Certified State = "certified" // until Certification.ExpiresAt
)

// Draft holds what a user decides about an executive.
type Draft struct {
	Name        string   `json:"name" minLength:"1" maxLength:"100" doc:"names the executive, and is unique in the company; its id follows from the name" example:"Chief of Staff"`
	Role        string   `json:"role" minLength:"1" maxLength:"200" doc:"what the executive is for, in words" example:"Keeps the sources in sync and the timeline tidy"`
	Owner       string   `json:"owner" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" patternDescription:"letters, digits and any of _ -" doc:"id of the user who answers for the executive; it acts only while this user is active" example:"0198c5f2-7a00-7000-8000-00000000000a"`
	Actions     []Action `json:"actions" nullable:"false" maxItems:"7" uniqueItems:"true" enum:"memory.sync,recommendation.claim,recommendation.dismiss,integration.disable,timeline.note,goal.note,deliveries.recover" doc:"the actions that the executive may ask for; the policies deny any other" example:"[\"memory.sync\",\"timeline.note\"]"`
	Reads       []string `json:"reads,omitempty" nullable:"false" maxItems:"6" uniqueItems:"true" enum:"mission-control:read,intelligence:read,integrations:read,memory:read,operations:read,executives:read" doc:"the scopes with which the executive reads when it acts by itself, as a client that is bound to it; absent: it reads nothing" example:"[\"intelligence:read\"]"`
	QuotaPerDay int      `json:"quotaPerDay,omitempty" minimum:"1" maximum:"1000" default:"100" format:"int32" doc:"how many actions it may ask for in a day (UTC), tried ones too; 100 if absent" example:"100"`
}

// equal reports whether two drafts ask for the same executive.
func (d Draft) equal(other Draft) bool {
	return d.Name == other.Name && d.Role == other.Role && d.Owner == other.Owner && d.QuotaPerDay == other.QuotaPerDay &&
		slices.Equal(d.Actions, other.Actions) && slices.Equal(d.Reads, other.Reads)
}

// Executive describes one executive, as stored.
type Executive struct {
	Draft
	ID            string         `json:"id"`
	Certification *Certification `json:"certification,omitempty"`
	Report        *Report        `json:"report,omitempty"` // of the last certification run
	CreatedAt     time.Time      `json:"createdAt"`
	UpdatedAt     time.Time      `json:"updatedAt"`

	// Generation is that of the tokens issued from now on; see user.Ended.
	Generation int64 `json:"generation,omitempty"`
}

// Certification records a passed certification run.
type Certification struct {
	PassedAt  time.Time `json:"passedAt" doc:"when the certification passed"`
	ExpiresAt time.Time `json:"expiresAt" doc:"when the executive returns to the sandbox, 90 days later"`
}

// Stored carries an executive with its version.
type Stored struct {
	Executive
	Version int64
}

// IDOf returns the id of the executive with a name.
func IDOf(name string) string { return id.Of(Entity, name) }

// Key returns the sort key of an executive.
func Key(executiveID string) string { return Prefix + executiveID }

// New returns the executive that a draft asks for.
func New(d Draft, now time.Time) Executive {
	return Executive{Draft: d, ID: IDOf(d.Name), CreatedAt: now, UpdatedAt: now}
}

// Change returns the executive with what a draft says. A draft that says something else returns it to the sandbox, because
// the certification covers what it said before. Another owner, or another right to read, begins a generation of tokens. If the draft
// says the same, changed is false.
func (e Executive) Change(d Draft, now time.Time) (next Executive, changed bool) {
	if e.equal(d) {
		return e, false
	}
	if e.Owner != d.Owner || !slices.Equal(e.Reads, d.Reads) {
		e.Generation++
	}
	e.Draft, e.Certification, e.UpdatedAt = d, nil, now
	return e, true
}

// Conclude returns the executive with the report of a certification run. A failed run revokes nothing: the executive stays
// certified until its certification expires or it is changed.
func (e Executive) Conclude(r Report, now time.Time) Executive {
	e.Report, e.UpdatedAt = &r, now
	if r.Passed {
		e.Certification = &Certification{PassedAt: now, ExpiresAt: now.Add(CertifiedFor)}
	}
	return e
}

// StateAt returns the executive's state as of a time.
func (e Executive) StateAt(now time.Time) State {
	if e.Certification != nil && now.Before(e.Certification.ExpiresAt) {
		return Certified
	}
	return Sandbox
}

// Declares reports whether the executive may ask for an action.
func (e Executive) Declares(a Action) bool { return slices.Contains(e.Actions, a) }

// Load reads one executive and its version. It returns fault.NotFound for an id that no executive has.
func Load(ctx context.Context, c store.Company, executiveID string) (Stored, error) {
	var s Stored
	missing := "there is no executive with this id"
	if !id.Valid(executiveID) {
		return s, store.Fault(store.ErrNotFound, missing)
	}
	item, err := c.Get(ctx, Key(executiveID), &s.Executive)
	s.Version = item.Version
	return s, store.Fault(err, missing)
}

// List reads all executives of a company, in order of their ids.
func List(ctx context.Context, c store.Company) ([]Stored, error) {
	var all []Stored
	for item, err := range c.Items(ctx, store.Query{Prefix: Prefix}) {
		if err != nil {
			return nil, store.Fault(err, "")
		}
		s := Stored{Version: item.Version}
		if err := item.Decode(&s.Executive); err != nil {
			return nil, fmt.Errorf("executive %s: %w", item.Key, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// Revision identifies one version of one executive. It includes the time of creation, because an executive that was deleted
// and created again counts its versions from 1 again. It is "" for an executive that does not exist.
func (s Stored) Revision() string {
	if s.Version == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%x", s.Version, s.CreatedAt.UnixMilli())
}
