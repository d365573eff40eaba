package inbound

import (
	"context"
	"errors"
	"sync"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/arrival"
	"orgops/shared/storage/store"
)

// Bounds of what counts may cost. Any stranger can send arrivals that do not verify, so a process writes the counts of an
// integration at most burst times in a row, and then once an interval. It counts the others in memory until then; what it
// has counted when it ends is lost. What the provider has signed has bounds of its own, so that strangers cannot delay it.
const (
	burst       = 5
	interval    = time.Minute
	maxCounting = 4096 // countings that a process has at a time
)

// The reasons why a verified arrival is refused.
const (
	refusedDisabled  = "the integration was disabled"
	refusedMalformed = "the body could not be read"
	refusedMapping   = "the mapping refused it"
	refusedTooMany   = "the company received too many at once"
	refusedTooLarge  = "its actions were too large together"
)

// unverifiedError says why an arrival does not verify. The sender gets errUnverified instead.
type unverifiedError struct{ reason string }

func (e *unverifiedError) Error() string { return e.reason }

func unverified(reason string) error { return &unverifiedError{reason} }

// reasonOf returns why a verified arrival was refused, or "" if it was not, or for want of this service.
func reasonOf(err error) string {
	switch fault.KindOf(err) {
	case fault.Malformed:
		return refusedMalformed
	case fault.Invalid:
		return refusedMapping
	case fault.TooLarge:
		return refusedTooLarge
	}
	return ""
}

// refuse counts a verified arrival that was refused. The receipt of the refusal tells a repeat, which it does not count: a
// stranger who has captured an arrival can repeat it.
func (d *Deps) refuse(ctx context.Context, in incoming, o arrival.Owner, digest, reason string, now time.Time) {
	receipt := in.company.Create(arrival.RefusedKey(o, digest), arrival.ReceiptEntity, struct{}{}).Until(now.Add(arrival.ReceiptKept)).Quietly()
	if err := in.company.Commit(ctx, receipt); errors.Is(err, store.ErrConflict) {
		return
	}
	d.refusals.count(ctx, in.company, o, arrival.Verified, reason, now)
}

// unread counts an arrival whose body was refused before it could be verified, if it is for a configured integration.
func (d *Deps) unread(ctx context.Context, param func(string) string, refused error) {
	company, provider := param("companyId"), param("provider")
	var f *fault.Error
	if !id.Valid(company) || !id.Valid(provider) || !errors.As(refused, &f) {
		return
	}
	c := d.Company(company)
	if _, known := d.inboundConnector(provider); !known {
		return
	}
	i, _, err := d.reader.Load(ctx, c, provider)
	if err != nil {
		return
	}
	class := arrival.Unverified
	if f.Kind == fault.TooLarge {
		class = arrival.Oversized
	}
	d.refusals.count(ctx, c, arrival.OwnerOf(i), class, f.Detail, d.Now().UTC())
}

// counter counts refusals in this process until they are written.
type counter struct {
	mu      sync.Mutex
	waiting map[countKey]*counting
}

// countKey names what is counted together: the arrivals to one integration that the provider has signed, or the others.
type countKey struct {
	integration integrationKey
	signed      bool
}

// integrationKey names an incarnation of an integration among those of all companies.
type integrationKey struct {
	company string
	owner   arrival.Owner
}

func keyOf(c store.Company, o arrival.Owner) integrationKey { return integrationKey{c.ID(), o} }

// counting holds those counts of one integration that are not written yet and have the same bounds.
type counting struct {
	refusals arrival.Refusals
	paid     time.Time // the time that earlier writes have used up, at most burst intervals ahead
	writing  bool
}

// count counts a refusal, and writes what waits if it is time. It tells no error: a refusal that cannot be written waits for
// the next one.
func (r *counter) count(ctx context.Context, c store.Company, o arrival.Owner, class arrival.Class, reason string, now time.Time) {
	r.mu.Lock()
	key := countKey{keyOf(c, o), class.Signed()}
	one, ok := r.waiting[key]
	if !ok && r.room(now) {
		one, ok = &counting{}, true
		r.waiting[key] = one
	}
	if ok {
		one.refusals.Add(class, reason, now, 1)
	}
	r.mu.Unlock()
	r.write(ctx, c, o, now)
}

// room makes room for one more integration, by dropping those that have nothing to write and may write at once.
func (r *counter) room(now time.Time) bool {
	if len(r.waiting) < maxCounting {
		return true
	}
	for key, one := range r.waiting {
		if !one.writing && one.refusals.IsEmpty() && !one.paid.After(now) {
			delete(r.waiting, key)
		}
	}
	return len(r.waiting) < maxCounting
}

// write writes what waits of an integration, if there is anything and it is time. Each request calls it, also an accepted one,
// so that no refusal waits longer than it must.
func (r *counter) write(ctx context.Context, c store.Company, o arrival.Owner, now time.Time) {
	for _, signed := range []bool{true, false} {
		r.writeOf(ctx, c, o, signed, now)
	}
}

func (r *counter) writeOf(ctx context.Context, c store.Company, o arrival.Owner, signed bool, now time.Time) {
	r.mu.Lock()
	one := r.waiting[countKey{keyOf(c, o), signed}]
	if one == nil || one.writing || one.refusals.IsEmpty() || one.paid.Sub(now) > (burst-1)*interval {
		r.mu.Unlock()
		return
	}
	if one.paid.Before(now) {
		one.paid = now
	}
	one.paid = one.paid.Add(interval)
	more := one.refusals
	one.refusals, one.writing = arrival.Refusals{}, true
	r.mu.Unlock()
	err := arrival.Record(ctx, c, o, more, now)
	r.mu.Lock()
	defer r.mu.Unlock()
	one.writing = false
	if err != nil && !errors.Is(err, store.ErrUnknown) { // counted twice is worse than not at all
		one.refusals.Merge(more)
	}
}
