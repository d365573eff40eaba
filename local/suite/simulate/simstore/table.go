// Package simstore simulates a DynamoDB table with its stream, in memory. A Table holds the items and a Stream the records
// of their changes, in shards that can be split. Store implements the contract of the store over a table.
package simstore

import (
	"slices"
	"strings"
	"sync"
	"time"

	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/storage/store/expiry"
)

// Table holds items. Its methods are safe for concurrent use. A caller passes the time of its own clock, as each process
// does with DynamoDB.
type Table struct {
	// Shuffle orders the records of one transaction, whose order DynamoDB does not promise. Nil keeps the order of the ops.
	Shuffle func(n int, swap func(i, j int))
	// Clock tells when a record was made. Nil: a record has the time of the caller's clock.
	Clock func() time.Time

	mu         sync.Mutex
	partitions map[store.Partition]*partition
	stream     *Stream
}

// partition holds the items of one partition key, with their sort keys in order.
type partition struct {
	keys []string
	rows map[string]row
}

// row holds an item as the table has it.
type row struct {
	store.Item
	quiet bool
}

// NewTable makes an empty table with a stream of one shard.
func NewTable() *Table {
	return &Table{partitions: map[store.Partition]*partition{}, stream: newStream()}
}

// Stream returns the table's stream.
func (t *Table) Stream() *Stream { return t.stream }

// Get returns an item that exists at now, or store.ErrNotFound.
func (t *Table) Get(now time.Time, p store.Partition, key string) (store.Item, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.live(now, p, key)
	if !ok {
		return store.Item{}, store.ErrNotFound
	}
	return r.Item, nil
}

// GetMany returns the items that exist at now.
func (t *Table) GetMany(now time.Time, p store.Partition, keys []string) (items []store.Item, err error) {
	if err := store.CheckKeys(keys); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		if r, ok := t.live(now, p, key); ok {
			items = append(items, r.Item)
		}
	}
	return items, nil
}

func (t *Table) row(p store.Partition, key string) (row, bool) {
	part := t.partitions[p]
	if part == nil {
		return row{}, false
	}
	r, ok := part.rows[key]
	return r, ok
}

func (t *Table) live(now time.Time, p store.Partition, key string) (row, bool) {
	r, ok := t.row(p, key)
	return r, ok && expiry.Live(r.Expires, now)
}

// Commit applies all ops or none, and appends the records of a company's items to the stream.
func (t *Table) Commit(now time.Time, ops ...store.Op) error {
	if err := store.CheckOps(ops); err != nil {
		return err
	}
	now = now.UTC().Truncate(time.Millisecond)
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range ops {
		if !t.holds(now, &ops[i]) {
			return &store.ConflictError{Index: i, Key: ops[i].Key}
		}
	}
	var records []dynamostore.Record
	for i := range ops {
		if r, ok := t.apply(now, &ops[i]); ok {
			records = append(records, r)
		}
	}
	if t.Shuffle != nil {
		t.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	}
	t.stream.add(records...)
	return nil
}

// holds reports whether the condition of an op holds.
func (t *Table) holds(now time.Time, op *store.Op) bool {
	r, exists := t.live(now, op.Partition, op.Key)
	if op.Condition == store.IfAbsent {
		return !exists
	}
	return exists && r.Version == op.Version
}

// apply writes one op. ok is false if the write has no record.
func (t *Table) apply(now time.Time, op *store.Op) (r dynamostore.Record, ok bool) {
	if op.Action == store.Check {
		return r, false
	}
	r.Created = now.Truncate(time.Second)
	if t.Clock != nil {
		r.Created = t.Clock().UTC().Truncate(time.Second)
	}
	if old, exists := t.row(op.Partition, op.Key); exists {
		r.Old = old.image(op.Partition)
	}
	if op.Action == store.Delete {
		t.remove(op.Partition, op.Key)
		gone := row{Item: store.Item{Key: op.Key, Entity: op.Entity, Version: op.Version, At: now}, quiet: op.Quiet}
		r.New = gone.image(op.Partition)
		r.New["gone"] = "true"
	} else {
		is := row{Item: t.next(now, op), quiet: op.Quiet}
		t.put(op.Partition, is)
		r.New = is.image(op.Partition)
	}
	_, owned := op.Partition.CompanyID()
	return r, owned
}

func (t *Table) next(now time.Time, op *store.Op) store.Item {
	return store.Item{
		Key: op.Key, Entity: op.Entity, Version: op.Version + 1, At: now, Expires: expiry.Time(expiry.Seconds(op.Expires)),
		Body: slices.Clone(op.Body),
	}
}

func (t *Table) put(p store.Partition, r row) {
	part := t.partitions[p]
	if part == nil {
		part = &partition{rows: map[string]row{}}
		t.partitions[p] = part
	}
	if _, exists := part.rows[r.Key]; !exists {
		at, _ := slices.BinarySearch(part.keys, r.Key)
		part.keys = slices.Insert(part.keys, at, r.Key)
	}
	part.rows[r.Key] = r
}

func (t *Table) remove(p store.Partition, key string) {
	part := t.partitions[p]
	delete(part.rows, key)
	if at, found := slices.BinarySearch(part.keys, key); found {
		part.keys = slices.Delete(part.keys, at, at+1)
	}
}

// Sweep removes the items that have expired, as TTL does.
func (t *Table) Sweep(now time.Time) {
	t.SweepSome(now, func(store.Partition, string) bool { return true })
}

// SweepSome removes those of the expired items that chosen accepts, and returns their number. DynamoDB deletes an expired item
// within days, in any order.
func (t *Table) SweepSome(now time.Time, chosen func(p store.Partition, key string) bool) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.sorted() {
		_, owned := p.CompanyID()
		for _, key := range slices.Clone(t.partitions[p].keys) {
			r := t.partitions[p].rows[key]
			if expiry.Live(r.Expires, now) || !chosen(p, key) {
				continue
			}
			n++
			t.remove(p, key)
			if owned {
				t.stream.add(dynamostore.Record{Created: now.UTC().Truncate(time.Second), Old: r.image(p)})
			}
		}
	}
	return n
}

// Partitions returns the partitions that hold or held items, in the order of their keys.
func (t *Table) Partitions() []store.Partition {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sorted()
}

// sorted returns the partitions in the order of their keys.
func (t *Table) sorted() []store.Partition {
	var all []store.Partition
	for p := range t.partitions {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b store.Partition) int { return strings.Compare(a.String(), b.String()) })
	return all
}
