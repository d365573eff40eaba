// Package arrival counts the webhooks of an integration that the service has refused.
//
// One small item an integration holds the counts by hour and reason. Refusals of verified deliveries, which the provider has
// signed, are kept apart from refusals of unverified ones, which any stranger can send.
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

// Entity names the entity of the item that counts an integration's refusals.
const Entity = "refusals"

const prefix = "REFUSALS#"

// Limits of what is kept.
const (
	Kept       = 7 * 24 * time.Hour // since the last refusal
	maxReasons = 8                  // of verified and of unverified deliveries each
	maxReason  = 120                // bytes
	otherwise  = "other reasons"    // counts what comes after maxReasons
)

// Key returns the sort key of an integration's refusals.
func Key(provider string) string { return prefix + provider }

// Counts counts by reason, in words.
type Counts map[string]Hours

// Refusals counts the refused deliveries of an integration.
type Refusals struct {
	Verified   Counts `json:"verified,omitempty"`
	Unverified Counts `json:"unverified,omitempty"`
}

// Stored carries refusals with their version, 0 if none are stored.
type Stored struct {
	Refusals
	Version int64
}

// Add counts n refusals at a time.
func (r *Refusals) Add(verified bool, reason string, at time.Time, n int64) {
	r.merge(verified, reason, Hours{}.Add(at, n))
}

// Merge adds the counts of other.
func (r *Refusals) Merge(other Refusals) {
	for _, verified := range []bool{true, false} {
		counts := other.of(verified)
		for _, reason := range counts.Reasons() {
			r.merge(verified, reason, counts[reason])
		}
	}
}

// IsEmpty reports whether nothing was counted.
func (r Refusals) IsEmpty() bool { return len(r.Verified)+len(r.Unverified) == 0 }

func (r *Refusals) of(verified bool) Counts {
	if verified {
		return r.Verified
	}
	return r.Unverified
}

func (r *Refusals) merge(verified bool, reason string, hours Hours) {
	counts := &r.Unverified
	if verified {
		counts = &r.Verified
	}
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

// Load reads the refusals of an integration. It returns version 0 and no error if none are stored.
func Load(ctx context.Context, c store.Company, provider string) (Stored, error) {
	var s Stored
	item, err := c.Get(ctx, Key(provider), &s.Refusals)
	if errors.Is(err, store.ErrNotFound) {
		return Stored{}, nil
	}
	s.Version = item.Version
	return s, store.Fault(err, "")
}

// List reads the refusals of all integrations of a company and returns them by provider.
func List(ctx context.Context, c store.Company) (map[string]Stored, error) {
	all := map[string]Stored{}
	for item, err := range c.Items(ctx, store.Query{Prefix: prefix}) {
		if err != nil {
			return nil, store.Fault(err, "")
		}
		s := Stored{Version: item.Version}
		if err := item.Decode(&s.Refusals); err != nil {
			return nil, err
		}
		all[strings.TrimPrefix(item.Key, prefix)] = s
	}
	return all, nil
}

// maxTries bounds how often counts are written again after another process has written.
const maxTries = 5

// Record adds counts to those stored of an integration. After an error other than store.ErrUnknown, nothing was added. The
// write stays out of the change feed.
func Record(ctx context.Context, c store.Company, provider string, more Refusals, now time.Time) error {
	for range maxTries {
		s, err := Load(ctx, c, provider)
		if err != nil {
			return err
		}
		s.Merge(more)
		err = c.Commit(ctx, c.Save(Key(provider), Entity, s.Version, s.Refusals).Until(now.Add(Kept)).Quietly())
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return store.ErrConflict
}
