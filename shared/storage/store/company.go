package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"orgops/shared/base/fastjson"
	"orgops/shared/base/fault"
)

// Company restricts a store to one company: every key it reads or writes lies in that company's partition. The methods of
// the zero value fail.
type Company struct {
	id    string
	store Store
}

// For binds a store to a company. The guard of the web routes binds the company of the token. A feed consumer binds the
// company of the change. Handlers do not call For.
func For(s Store, companyID string) Company { return Company{id: companyID, store: s} }

// Through returns the company on a store that wraps its own.
func (c Company) Through(wrap func(Store) Store) Company {
	if c.store == nil {
		return c
	}
	return Company{id: c.id, store: wrap(c.store)}
}

// ID returns the company's id.
func (c Company) ID() string { return c.id }

var errUnbound = errors.New("store: no company bound")

// Get returns an item. Unless into is nil, Get also decodes the item's body into the value that into points to. It returns
// ErrNotFound for an absent item.
func (c Company) Get(ctx context.Context, key string, into any) (Item, error) {
	if c.store == nil {
		return Item{}, errUnbound
	}
	item, err := c.store.Get(ctx, companyPartition(c.id), key)
	if err != nil {
		return Item{}, err
	}
	if into == nil {
		return item, nil
	}
	if err := item.Decode(into); err != nil {
		return Item{}, err
	}
	return item, nil
}

// Query returns one page of the company's items.
func (c Company) Query(ctx context.Context, q Query) (Page, error) {
	if c.store == nil {
		return Page{}, errUnbound
	}
	return c.store.Query(ctx, companyPartition(c.id), q)
}

// Items yields the company's items that q names, in order, and reads a page when the page before it has been consumed. It
// ends with the first error.
func (c Company) Items(ctx context.Context, q Query) iter.Seq2[Item, error] {
	if c.store == nil {
		return func(yield func(Item, error) bool) { yield(Item{}, errUnbound) }
	}
	return Items(ctx, c.store, companyPartition(c.id), q)
}

// Parts returns in how many sub-partitions the company's new items lie, of a store that spreads companies, and otherwise 1.
func (c Company) Parts(ctx context.Context) (int, error) {
	if s, spreads := c.store.(Spreader); spreads {
		return s.Parts(ctx, c.id)
	}
	return 1, nil
}

// Create returns an op that writes a new item. The commit fails if the item exists.
func (c Company) Create(key, entity string, body any) Op {
	return Op{Partition: companyPartition(c.id), Key: key, Entity: entity, Condition: IfAbsent, Body: encode(body)}
}

// Replace returns an op that overwrites an item. The commit fails unless the item exists at version.
func (c Company) Replace(key, entity string, version int64, body any) Op {
	return Op{Partition: companyPartition(c.id), Key: key, Entity: entity, Condition: IfVersion, Version: version, Body: encode(body)}
}

// Save returns Create for version 0, otherwise Replace. Pass the version that Get returned, or 0 if Get found no item.
func (c Company) Save(key, entity string, version int64, body any) Op {
	if version == 0 {
		return c.Create(key, entity, body)
	}
	return c.Replace(key, entity, version, body)
}

// Delete returns an op that removes an item. The commit fails unless the item exists at version.
func (c Company) Delete(key, entity string, version int64) Op {
	return Op{Partition: companyPartition(c.id), Key: key, Entity: entity, Action: Delete, Condition: IfVersion, Version: version}
}

// Unchanged returns an op that fails the commit unless the item is still at version.
func (c Company) Unchanged(key string, version int64) Op {
	return Op{Partition: companyPartition(c.id), Key: key, Action: Check, Condition: IfVersion, Version: version}
}

const timerEntity = "timer"

// Timer asks the ticker to pass on kind and subject at the time At.
type Timer struct {
	At      time.Time `json:"at"`
	Company string    `json:"company"`
	Kind    string    `json:"kind"`    // such as "certification-expiry"
	Subject string    `json:"subject"` // such as the name of a provider
	// Data holds more that the effect needs.
	Data json.RawMessage `json:"data,omitempty"`
}

// About names what the timer is about: its company, and the subject without what tells its timers apart, which follows an "@". The
// timers about one thing lie in one shard.
func (t Timer) About() string {
	what, _, _ := strings.Cut(t.Subject, "@")
	return t.Company + "#" + what
}

func (t Timer) shard() Partition { return Due(int(sha256.Sum256([]byte(t.About()))[0]) % DueShards) }

// DueBy returns the query for the timers of a shard that are due at a time.
func DueBy(now time.Time) Query { return Query{To: now.UTC().Format(timerForm) + "~"} }

// timerForm is the form of a timer's time in its key.
const timerForm = "2006-01-02T15:04:05.000Z"

// Timer returns an op that sets a timer, for the same commit as the change that needs the timer. The commit fails if the
// timer exists.
func (c Company) Timer(at time.Time, kind, subject string) Op {
	return c.TimerWith(at, kind, subject, nil)
}

// TimerWith returns Timer with data for its effect.
func (c Company) TimerWith(at time.Time, kind, subject string, data json.RawMessage) Op {
	at = at.UTC()
	key := strings.Join([]string{at.Format(timerForm), c.id, kind, subject}, "#")
	t := Timer{At: at, Company: c.id, Kind: kind, Subject: subject, Data: data}
	return Op{
		Partition: t.shard(), Key: key, Entity: timerEntity, Condition: IfAbsent, Quiet: true,
		Expires: at.Add(35 * 24 * time.Hour), Body: encode(t),
	}
}

// Fired returns an op that removes a timer that was read from partition p. Commit the op with the timer's effect: then the
// effect happens exactly once.
func (c Company) Fired(p Partition, timer Item) Op {
	return Op{
		Partition: p, Key: timer.Key, Entity: timerEntity, Action: Delete, Condition: IfVersion, Version: timer.Version, Quiet: true,
	}
}

// Commit writes all ops or none. Each op must belong to the company or be one of its timers.
func (c Company) Commit(ctx context.Context, ops ...Op) error {
	if c.store == nil {
		return errUnbound
	}
	own := companyPartition(c.id)
	for _, op := range ops {
		timer := op.Entity == timerEntity && strings.Contains(op.Key, "#"+c.id+"#")
		if op.Partition != own && !timer {
			return fmt.Errorf("store: op on %s in a commit of company %s", op.Partition, c.id)
		}
	}
	return c.store.Commit(ctx, ops...)
}

// Until sets the time at which the item expires.
func (op Op) Until(t time.Time) Op { op.Expires = t; return op }

// From sets the first version of a new item, at least 1. An item that is removed and made again begins at 1 again, so a write at a
// version of the former item could replace the new one. Far apart first versions prevent that.
func (op Op) From(first int64) Op { op.Version = first - 1; return op }

// Quietly keeps the write out of the change feed.
func (op Op) Quietly() Op { op.Quiet = true; return op }

// Entry returns a quiet op on a partition outside any company. It creates the item for version 0 and otherwise replaces it.
func (p Partition) Entry(key, entity string, version int64, body any) Op {
	op := Op{Partition: p, Key: key, Entity: entity, Body: encode(body), Quiet: true}
	if version > 0 {
		op.Condition, op.Version = IfVersion, version
	}
	return op
}

// Fault converts a store error for API clients: ErrNotFound becomes NotFound with the given detail, ErrConflict Conflict,
// ErrUnavailable and ErrUnknown Unavailable. It returns other errors unchanged.
func Fault(err error, notFound string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound):
		return fault.Wrap(fault.NotFound, notFound, err)
	case errors.Is(err, ErrConflict):
		return fault.Wrap(fault.Conflict, "this was changed at the same time; re-read it and retry", err)
	case errors.Is(err, ErrUnavailable):
		return unavailable("the store is unavailable; retry later", err)
	case errors.Is(err, ErrUnknown):
		return unavailable("the write may or may not have been applied; re-read before retrying", err)
	}
	return err
}

func unavailable(detail string, err error) error {
	e := fault.Wrap(fault.Unavailable, detail, err)
	e.RetryAfter = 2 * time.Second
	return e
}

// encode panics if body cannot become JSON. Only a programming error causes that, never a client's input.
func encode(body any) json.RawMessage {
	if raw, ok := body.(json.RawMessage); ok {
		return raw
	}
	b, err := fastjson.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("store: body is not JSON: %v", err))
	}
	return b
}
