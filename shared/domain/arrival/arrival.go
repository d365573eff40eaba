// Package arrival counts the webhooks of an integration that the service has refused, or accepted without effect.
//
// One small item an integration holds the counts by hour and reason. What the provider has signed is kept apart from what any
// stranger can send.
package arrival

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/text"
	"orgops/shared/storage/store"
)

// Entity and Prefix name the entity of the item that counts an integration's refusals, and the prefix of its key.
const (
	Entity = "refusals"
	Prefix = "REFUSALS#"
)

// Limits of what is kept.
const (
	Kept       = 7 * 24 * time.Hour // since the last refusal
	maxReasons = 8                  // of each class
	maxReason  = 120                // bytes
	otherwise  = "other reasons"    // counts what comes after maxReasons
)

// Telling is how many arrivals within a day say something about an integration: if so many arrived and none took effect, its
// company is warned.
const Telling = 3

// Key returns the sort key of an integration's refusals.
func Key(provider string) string { return Prefix + provider }

// Counts counts by reason, in words.
type Counts map[string]Hours

// Class says what kind of arrival a count is of.
type Class int

// The classes.
const (
	Verified    Class = iota // signed by the provider, and refused
	Unverified               // the signature was not accepted
	Oversized                // too large to be read, so that its signature is unknown
	Ineffective              // signed by the provider and accepted, without effect
)

// Signed reports whether the provider has signed the arrivals of a class.
func (c Class) Signed() bool { return c == Verified || c == Ineffective }

func classes() []Class { return []Class{Verified, Unverified, Oversized, Ineffective} }

// Refusals counts the arrivals of an integration that took no effect.
type Refusals struct {
	Verified    Counts `json:"verified,omitempty"`
	Unverified  Counts `json:"unverified,omitempty"`
	Oversized   Counts `json:"oversized,omitempty"`
	Ineffective Counts `json:"ineffective,omitempty"`

	Incarnation string `json:"incarnation,omitempty"` // of the integration
}

// Stored carries refusals with their version, 0 if none are stored.
type Stored struct {
	Refusals
	Version int64
}

// Add counts n refusals at a time.
func (r *Refusals) Add(class Class, reason string, at time.Time, n int64) {
	r.merge(class, reason, Hours{}.Add(at, n))
}

// Merge adds the counts of other.
func (r *Refusals) Merge(other Refusals) {
	for _, class := range classes() {
		counts := *other.of(class)
		for _, reason := range counts.Reasons() {
			r.merge(class, reason, counts[reason])
		}
	}
}

// IsEmpty reports whether nothing was counted.
func (r Refusals) IsEmpty() bool {
	return len(r.Verified)+len(r.Unverified)+len(r.Oversized)+len(r.Ineffective) == 0
}

func (r *Refusals) of(class Class) *Counts {
	switch class {
	case Verified:
		return &r.Verified
	case Oversized:
		return &r.Oversized
	case Ineffective:
		return &r.Ineffective
	}
	return &r.Unverified
}

func (r *Refusals) merge(class Class, reason string, hours Hours) {
	counts := r.of(class)
	if *counts == nil {
		*counts = Counts{}
	}
	reason = text.Truncate(reason, maxReason)
	if _, known := (*counts)[reason]; !known && len(*counts) >= maxReasons {
		reason = otherwise
	}
	(*counts)[reason] = (*counts)[reason].Merge(hours)
}

// Reasons lists the reasons in alphabetical order.
func (c Counts) Reasons() []string {
	reasons := make([]string, 0, len(c))
	for reason := range c {
		reasons = append(reasons, reason)
	}
	slices.Sort(reasons)
	return reasons
}

// Total adds up the counts of all reasons, and returns the most frequent one.
func (c Counts) Total() (sum Hours, most string) {
	for _, reason := range c.Reasons() {
		sum = sum.Merge(c[reason])
		if most == "" || c[reason].Since(time.Time{}) > c[most].Since(time.Time{}) {
			most = reason
		}
	}
	return sum, most
}

// Last returns the time of the newest refusal, or the zero time.
func (c Counts) Last() (last time.Time) {
	for _, hours := range c {
		if hours.Last().After(last) {
			last = hours.Last()
		}
	}
	return last
}

// Since returns the number of refusals in the hours that end after from.
func (c Counts) Since(from time.Time) (n int64) {
	for _, hours := range c {
		n += hours.Since(from)
	}
	return n
}

// Load reads the refusals of an integration. It returns version 0 and no error if none are stored. Those of a former
// incarnation are empty.
func Load(ctx context.Context, c store.Company, o Owner) (Stored, error) {
	var s Stored
	item, err := c.Get(ctx, Key(o.Provider), &s.Refusals)
	if errors.Is(err, store.ErrNotFound) {
		return Stored{}, nil
	}
	s.Version = item.Version
	return s.of(o), store.Fault(err, "")
}

func (s Stored) of(o Owner) Stored {
	if s.Incarnation != o.Incarnation {
		s.Refusals = Refusals{}
	}
	return s
}

// All holds the refusals of a company's integrations by provider.
type All map[string]Stored

// Of returns the refusals of an integration, as Load does.
func (a All) Of(o Owner) Stored { return a[o.Provider].of(o) }

// List reads the refusals of all integrations of a company.
func List(ctx context.Context, c store.Company) (All, error) {
	all := All{}
	for item, err := range c.Items(ctx, store.Query{Prefix: Prefix}) {
		if err != nil {
			return nil, store.Fault(err, "")
		}
		s := Stored{Version: item.Version}
		if err := item.Decode(&s.Refusals); err != nil {
			return nil, err
		}
		all[strings.TrimPrefix(item.Key, Prefix)] = s
	}
	return all, nil
}

// maxTries bounds how often counts are written again after another process has written.
const maxTries = 5

// Record adds counts to those stored of an integration. After an error other than store.ErrUnknown, nothing was added. Only
// arrivals without effect reach the change feed, because a stranger can cause the other counts.
func Record(ctx context.Context, c store.Company, o Owner, more Refusals, now time.Time) error {
	for range maxTries {
		s, err := Load(ctx, c, o)
		if err != nil {
			return err
		}
		s.Merge(more)
		s.Incarnation = o.Incarnation
		op := c.Save(Key(o.Provider), Entity, s.Version, s.Refusals).Until(now.Add(Kept))
		if len(more.Ineffective) == 0 {
			op = op.Quietly()
		}
		if err = c.Commit(ctx, op); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return store.ErrConflict
}
