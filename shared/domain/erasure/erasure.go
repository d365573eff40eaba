// Package erasure removes everything of a company: first the key that seals its secrets, then its items, logins, timers and its
// entry in the registry, in bounded batches that resume after a crash. What remains is a receipt without any of the company's data.
//
// A company has a minute between the request and the first batch, in which requests and attempts in flight end. What a late worker
// writes all the same is removed an hour and a day later, when no token of the company is valid and no change of it is in the feed.
package erasure

import (
	"context"
	"errors"
	"maps"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/suspension"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// Action names the action that an approval of an erasure permits, and Policy the rule that asks for the approval.
const (
	Action = "company.erase"
	Policy = "erasure"
)

// Timer names the kind of the timers that erase. First is the subject of the first one.
const (
	Timer = "erasure"
	First = "first"
)

// Entity names the entity of a receipt.
const Entity = "erasure"

// The waits before the first batch, and between the first batches and the rounds that remove what came late.
const (
	settles = time.Minute
	soon    = time.Hour      // by then every token has expired
	finally = 26 * time.Hour // by then the feed has no change of the company
)

// Receipt says what was erased, and when.
type Receipt struct {
	CompanyID      string         `json:"companyId"`
	BegunAt        time.Time      `json:"begunAt"`
	KeyDestroyedAt *time.Time     `json:"keyDestroyedAt,omitempty"` // what the key sealed cannot be opened from then on
	ErasedAt       *time.Time     `json:"erasedAt,omitempty"`       // nil: not finished
	Items          map[string]int `json:"items"`                    // removed items by entity
	ItemsAt        *pass          `json:"itemsAt,omitempty"`        // up to where items were removed; nil: from the first one on
	TimersAt       *place         `json:"timersAt,omitempty"`       // while it is not finished: up to where timers were removed
}

func receiptKey(companyID string) string { return "ERASURE#" + companyID }

// Find returns the receipt of a company, and version 0 for a company that is not being erased.
func Find(ctx context.Context, st store.Store, companyID string) (r Receipt, version int64, err error) {
	item, err := st.Get(ctx, store.System(), receiptKey(companyID))
	if errors.Is(err, store.ErrNotFound) {
		return Receipt{}, 0, nil
	}
	if err != nil {
		return Receipt{}, 0, store.Fault(err, "")
	}
	if err := item.Decode(&r); err != nil {
		return Receipt{}, 0, err
	}
	return r, item.Version, nil
}

// Erased returns the number of removed items.
func (r Receipt) Erased() (items int) {
	for _, n := range r.Items {
		items += n
	}
	return items
}

// write returns the write of the receipt, which replaces that of a version.
func (r Receipt) write(version int64) store.Op {
	return store.System().Entry(receiptKey(r.CompanyID), Entity, version, r)
}

// with returns the receipt with more removed items.
func (r Receipt) with(removed map[string]int) Receipt {
	items := maps.Clone(r.Items)
	if items == nil {
		items = map[string]int{}
	}
	for entity, n := range removed {
		items[entity] += n
	}
	r.Items = items
	return r
}

// Begin returns the writes that begin the erasure of the company that c is bound to. From their commit on the company is suspended
// for good. It returns fault.Conflict if the erasure has begun.
func Begin(ctx context.Context, c store.Company, now time.Time) ([]store.Op, error) {
	is, version, err := company.Get(ctx, c)
	if err != nil {
		return nil, err
	}
	if is.Erasing != nil {
		return nil, fault.New(fault.Conflict, "the company is being erased already")
	}
	now = now.UTC().Truncate(time.Millisecond)
	is.Erasing = &now
	ops := []store.Op{c.Timer(now.Add(settles), Timer, First), c.Timer(now, suspension.Timer, "erasing")}
	if is.Suspended == nil {
		is.Suspended = &company.Suspension{At: now, Reason: "erasure"}
		ops = append(ops, c.Create(user.HaltKey, user.HaltEntity, user.Halt{}).Quietly())
	}
	return append(ops, c.Replace(company.Key, company.Entity, version, is)), nil
}

// Later returns the timers of the rounds that remove what a late worker has written.
func Later(c store.Company, now time.Time) []store.Op {
	return []store.Op{c.Timer(now.Add(soon), Timer, "soon"), c.Timer(now.Add(finally), Timer, "finally")}
}

// Again returns the timer of a round that continues at once.
func Again(c store.Company, now time.Time, subject string) store.Op {
	return c.Timer(now.Add(time.Second), Timer, subject)
}
