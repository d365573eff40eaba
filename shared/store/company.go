package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"orgops/shared/fault"
)

// Company is the store as one company sees it. Every key it reads or writes lies in that company's partition; the
// zero value belongs to nobody and fails.
type Company struct {
	id    string
	store Store
}

// For binds a store to a company. Handlers do not call it: the guard binds the token's company, and consumers the
// change's.
func For(s Store, companyID string) Company { return Company{id: companyID, store: s} }

// ID is the company's id.
func (c Company) ID() string { return c.id }

var errUnbound = errors.New("store: no company bound")

// Get decodes the body of one item into into (nil: leaves it) and returns the item. An absent one is ErrNotFound.
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
	if err := json.Unmarshal(item.Body, into); err != nil {
		return Item{}, fmt.Errorf("decode %s: %w", key, err)
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

// Create writes an item that must not exist yet.
func (c Company) Create(key, entity string, body any) Op {
	return Op{Partition: companyPartition(c.id), Key: key, Entity: entity, Condition: IfAbsent, Body: encode(body)}
}

// Replace writes an item that must exist at version.
func (c Company) Replace(key, entity string, version int64, body any) Op {
	return Op{Partition: companyPartition(c.id), Key: key, Entity: entity, Condition: IfVersion, Version: version, Body: encode(body)}
}

// Save is Create for version 0 and Replace for any other: the write that fits what Get found.
func (c Company) Save(key, entity string, version int64, body any) Op {
	if version == 0 {
		return c.Create(key, entity, body)
	}
	return c.Replace(key, entity, version, body)
}

// Delete removes an item that must exist at version.
func (c Company) Delete(key, entity string, version int64) Op {
	return Op{Partition: companyPartition(c.id), Key: key, Entity: entity, Action: Delete, Condition: IfVersion, Version: version}
}

// Unchanged makes a commit depend on an item still being at version.
func (c Company) Unchanged(key string, version int64) Op {
	return Op{Partition: companyPartition(c.id), Key: key, Action: Check, Condition: IfVersion, Version: version}
}

const timerEntity = "timer"

// Timer is something of this company that is due later: the ticker hands kind and subject on at that time.
type Timer struct {
	At      time.Time `json:"at"`
	Company string    `json:"company"`
	Kind    string    `json:"kind"`    // such as "certification-expiry"
	Subject string    `json:"subject"` // what it is about, such as a provider
}

// Timer writes a timer in the transaction of its cause. It must not exist yet.
func (c Company) Timer(at time.Time, kind, subject string) Op {
	at = at.UTC()
	key := strings.Join([]string{at.Format("2006-01-02T15:04:05.000Z"), c.id, kind, subject}, "#")
	shard := int(sha256.Sum256([]byte(c.id))[0]) % DueShards
	return Op{
		Partition: Due(at, shard), Key: key, Entity: timerEntity, Condition: IfAbsent, Quiet: true,
		Expires: at.Add(35 * 24 * time.Hour), Body: encode(Timer{At: at, Company: c.id, Kind: kind, Subject: subject}),
	}
}

// Fired removes a timer that was read from partition p, in the transaction of its effect: it fires exactly once.
func (c Company) Fired(p Partition, timer Item) Op {
	return Op{
		Partition: p, Key: timer.Key, Entity: timerEntity, Action: Delete, Condition: IfVersion, Version: timer.Version, Quiet: true,
	}
}

// Commit writes all ops or none. Every op must be the company's own, or one of its timers.
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

// Until sets when the item expires.
func (op Op) Until(t time.Time) Op { op.Expires = t; return op }

// Silent keeps the write out of the change feed.
func (op Op) Silent() Op { op.Quiet = true; return op }

// Entry is any write that is not a company's: its partition's owner calls it.
func (p Partition) Entry(key, entity string, version int64, body any) Op {
	op := Op{Partition: p, Key: key, Entity: entity, Body: encode(body), Quiet: true}
	if version > 0 {
		op.Condition, op.Version = IfVersion, version
	}
	return op
}

// Fault makes a store error fit for a caller: ErrNotFound becomes NotFound with the given detail, ErrConflict becomes
// Conflict, ErrUnavailable and ErrUnknown become Unavailable. Other errors pass.
func Fault(err error, notFound string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound):
		return fault.Wrap(fault.NotFound, notFound, err)
	case errors.Is(err, ErrConflict):
		return fault.Wrap(fault.Conflict, "someone else changed this at the same time; read it again and repeat", err)
	case errors.Is(err, ErrUnavailable):
		return unavailable("the store cannot be reached; try again", err)
	case errors.Is(err, ErrUnknown):
		return unavailable("whether this was written is not known; read it again before you repeat", err)
	}
	return err
}

func unavailable(detail string, err error) error {
	e := fault.Wrap(fault.Unavailable, detail, err)
	e.RetryAfter = 2 * time.Second
	return e
}

// encode panics on what cannot be JSON: a programming error, never input.
func encode(body any) json.RawMessage {
	if raw, ok := body.(json.RawMessage); ok {
		return raw
	}
	b, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("store: body is not JSON: %v", err))
	}
	return b
}
