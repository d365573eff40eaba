package dynamostore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/storage/store/storetest"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
)

// The moments of a level after its announcement: about which clocks may disagree, and after which none does.
const (
	begins = 10 * time.Minute
	begun  = 15 * time.Minute
)

// grow announces the next level of a company.
func grow(t *testing.T, s *dynamostore.Store, company string, parts int) {
	t.Helper()
	got, err := s.Spread(t.Context(), company, parts)
	errtest.Must(t, err)
	if got != parts {
		t.Fatalf("announced %d sub-partitions, want %d", got, parts)
	}
}

// TestStore_Spread runs the driver's suite with companies that are spread.
func TestStore_Spread(t *testing.T) {
	t.Parallel()
	h := harness()
	h.Prepare = func(t *testing.T, d storetest.Driver, clock *clocktest.Clock, company string) {
		grow(t, d.(swept).Store, company, 8)
		clock.Advance(begun)
	}
	storetest.Run(t, h)
}

// model is what a company's items must be.
type model struct {
	t       *testing.T
	random  *rand.Rand
	clock   *clocktest.Clock
	workers []store.Company // of processes whose clocks differ
	items   map[string]store.Item
}

// key returns a key with a time in it or without one.
func (m *model) key() string {
	n := m.random.IntN(30)
	if at := begin.Add(time.Duration(n) * time.Minute); m.random.IntN(2) == 0 && at.Before(m.clock.Now()) {
		return "DELIVERY#" + id.At(at, fmt.Sprint(n)) + "#webhook"
	}
	return fmt.Sprintf("MEMORY#%02d", n)
}

var begin = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// step makes one random commit through a random process, and compares its outcome with the model's.
func (m *model) step() {
	m.t.Helper()
	c := m.workers[m.random.IntN(len(m.workers))]
	ops := map[string]store.Op{}
	want, next := error(nil), maps.Clone(m.items)
	for range 1 + m.random.IntN(4) {
		key := m.key()
		if _, twice := ops[key]; twice {
			continue
		}
		has, there := m.items[key]
		live := there && (has.Expires.IsZero() || has.Expires.After(m.clock.Now().Add(time.Hour)))
		version, holds := has.Version, live
		body := json.RawMessage(fmt.Sprintf(`{"n":%d}`, m.random.IntN(1000)))
		switch m.random.IntN(5) {
		case 0:
			ops[key] = c.Delete(key, "note", max(version, 1))
			delete(next, key)
		case 1:
			ops[key] = c.Replace(key, "note", max(version, 1), body)
			next[key] = store.Item{Key: key, Version: version + 1, Body: body}
		case 2:
			ops[key] = c.Unchanged(key, max(version, 1))
		default:
			ops[key], holds = c.Create(key, "note", body), !live
			next[key] = store.Item{Key: key, Version: 1, Body: body}
			if m.random.IntN(4) == 0 { // already over
				past := m.clock.Now().Add(-time.Hour)
				ops[key] = ops[key].Until(past)
				next[key] = store.Item{Key: key, Version: 1, Body: body, Expires: past}
			}
		}
		if !holds {
			want = store.ErrConflict
		}
	}
	if m.random.IntN(8) == 0 {
		m.compare(c)
	}
	err := c.Commit(m.t.Context(), slices.Collect(maps.Values(ops))...)
	if !errors.Is(err, want) {
		m.t.Fatalf("commit of %v: %v, want %v", slices.Sorted(maps.Keys(ops)), err, want)
	}
	if err == nil {
		m.items = next
	}
}

// compare reads everything as one process sees it, in both directions and by pages, and one item.
func (m *model) compare(c store.Company) {
	m.t.Helper()
	want := map[string]string{}
	for key, item := range m.items {
		if item.Expires.IsZero() {
			want[key] = fmt.Sprint(item.Version, string(item.Body))
		}
	}
	for _, desc := range []bool{false, true} {
		got, last := map[string]string{}, ""
		for item, err := range c.Items(m.t.Context(), store.Query{Desc: desc, Limit: 9 + m.random.IntN(20)}) {
			errtest.Must(m.t, err)
			if last != "" && (item.Key > last) == desc {
				m.t.Fatalf("%s after %s, descending %v", item.Key, last, desc)
			}
			last = item.Key
			got[item.Key] = fmt.Sprint(item.Version, string(item.Body))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			m.t.Fatalf("items at %s, descending %v (-want +got):\n%s", m.clock.Now().Sub(begin), desc, diff)
		}
	}
	key := m.key()
	ahead, err := c.Ahead(m.t.Context(), append(slices.Collect(maps.Keys(m.items)), key)...)
	errtest.Must(m.t, err)
	for one := range m.items {
		got := ""
		if item, err := ahead.Get(m.t.Context(), one, nil); !errors.Is(err, store.ErrNotFound) {
			got = fmt.Sprint(item.Version, string(item.Body))
		}
		if got != want[one] {
			m.t.Fatalf("%s is %q when it is read with others, want %q", one, got, want[one])
		}
	}
	item, err := c.Get(m.t.Context(), key, nil)
	if errors.Is(err, store.ErrNotFound) {
		if want[key] != "" {
			m.t.Fatalf("%s not found, want %s", key, want[key])
		}
		return
	}
	errtest.Must(m.t, err)
	if got := fmt.Sprint(item.Version, string(item.Body)); got != want[key] {
		m.t.Fatalf("%s is %q, want %q", key, got, want[key])
	}
}

// TestStore_Growth commits at random through processes whose clocks differ, while the company grows to 8 and to 64 sub-partitions.
func TestStore_Growth(t *testing.T) {
	t.Parallel()
	const seed = 31
	m := &model{t: t, random: rand.New(rand.NewPCG(seed, seed)), clock: clocktest.At(begin), items: map[string]store.Item{}}
	table, company := newTable(), id.New()
	first := newStore(t, dynamostore.Options{Table: table, Now: m.clock.Now})
	for _, off := range []time.Duration{-10 * time.Second, 0, 15 * time.Second} {
		s := newStore(t, dynamostore.Options{Table: table, Now: func() time.Time { return m.clock.Now().Add(off) }})
		m.workers = append(m.workers, store.For(s, company))
	}
	for _, parts := range store.PartCounts()[1:] {
		for range 20 {
			m.step()
		}
		grow(t, first, company, parts)
		for range 40 {
			m.clock.Advance(20 * time.Second)
			m.step()
		}
	}
	for _, c := range m.workers {
		m.compare(c)
	}
}

// TestStore_GrowthAtOnce creates the same items through processes of which some already use the next level. Each item is created once.
func TestStore_GrowthAtOnce(t *testing.T) {
	t.Parallel()
	clock := clocktest.At(begin)
	table, company := newTable(), id.New()
	ahead := newStore(t, dynamostore.Options{Table: table, Now: func() time.Time { return clock.Now().Add(20 * time.Second) }})
	behind := newStore(t, dynamostore.Options{Table: table, Now: clock.Now})
	grow(t, behind, company, 8)
	clock.Advance(begins - 10*time.Second)
	var wg sync.WaitGroup
	created := make([][2]error, 40)
	for i := range created {
		for n, s := range []*dynamostore.Store{ahead, behind} {
			wg.Go(func() {
				c := store.For(s, company)
				created[i][n] = c.Commit(context.Background(), c.Create(fmt.Sprint("MEMORY#", i), "note", struct{}{}))
			})
		}
	}
	wg.Wait()
	for i, errs := range created {
		for _, err := range errs {
			if err != nil && !errors.Is(err, store.ErrConflict) {
				t.Errorf("item %d: %v", i, err)
			}
		}
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Errorf("item %d: %v and %v, want one creation and one conflict", i, errs[0], errs[1])
		}
	}
	c, found := store.For(ahead, company), 0
	for _, err := range c.Items(t.Context(), store.Query{Prefix: "MEMORY#"}) {
		errtest.Must(t, err)
		found++
	}
	if found != len(created) {
		t.Errorf("%d items, want %d", found, len(created))
	}
}

// TestStore_SpreadSwept creates an item that had expired at a former level, through a process that knows it there and through another
// one, after it was swept. It is created once.
func TestStore_SpreadSwept(t *testing.T) {
	t.Parallel()
	clock := clocktest.At(begin)
	table, company := newTable(), id.New()
	open := func() (*dynamostore.Store, store.Company) {
		s := newStore(t, dynamostore.Options{Table: table, Now: clock.Now})
		return s, store.For(s, company)
	}
	s, one := open()
	_, other := open()
	errtest.Must(t, one.Commit(t.Context(), one.Create("MEMORY#1", "note", struct{}{}).Until(begin.Add(time.Minute))))
	grow(t, s, company, 8)
	clock.Advance(begun)
	_, err := one.Get(t.Context(), "MEMORY#1", nil)
	if !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("get of the expired item: %v, want ErrNotFound", err)
	}
	swept{s, table, clock.Now}.sweep(t)
	errtest.Must(t, other.Commit(t.Context(), other.Create("MEMORY#1", "note", struct{}{})))
	if err := one.Commit(t.Context(), one.Create("MEMORY#1", "note", struct{}{})); !errors.Is(err, store.ErrConflict) {
		t.Errorf("second creation: %v, want ErrConflict", err)
	}
	page, err := other.Query(t.Context(), store.Query{})
	errtest.Must(t, err)
	if len(page.Items) != 1 {
		t.Errorf("%d items, want 1", len(page.Items))
	}
}

// TestStore_SpreadAgain creates an item again that was deleted at a former level. It lies where it lay, so that its changes come from one
// partition; once its tombstone was swept, it lies at the present level.
func TestStore_SpreadAgain(t *testing.T) {
	t.Parallel()
	clock, meter, company := clocktest.At(begin), &dynamostore.Meter{ByKey: true}, id.New()
	table := newTable()
	s := newStore(t, dynamostore.Options{Table: table, Meter: meter, Now: clock.Now})
	c := store.For(s, company)
	create := func(key string) { errtest.Must(t, c.Commit(t.Context(), c.Create(key, "note", struct{}{}))) }
	remove := func(key string) { errtest.Must(t, c.Commit(t.Context(), c.Delete(key, "note", 1))) }
	const kept, swapped = "MEMORY#1", "MEMORY#2"
	create(kept)
	create(swapped)
	grow(t, s, company, 8)
	clock.Advance(begun)
	remove(kept)
	remove(swapped)
	written := func(key string) (partitions []string) {
		meter.TakeKeys()
		create(key)
		for partition, units := range meter.TakeKeys() {
			if units > 0 && strings.HasPrefix(partition, "C#") {
				partitions = append(partitions, partition)
			}
		}
		return partitions
	}
	if diff := cmp.Diff([]string{"C#" + company}, written(kept)); diff != "" {
		t.Errorf("partitions of the item that is created again (-want +got):\n%s", diff)
	}
	swept{s, table, clock.Now}.sweep(t)
	other := store.For(newStore(t, dynamostore.Options{Table: table, Now: clock.Now}), company)
	errtest.Must(t, other.Commit(t.Context(), other.Create(swapped, "note", struct{}{})))
	if err := c.Commit(t.Context(), c.Create(swapped, "note", struct{}{})); !errors.Is(err, store.ErrConflict) {
		t.Errorf("second creation: %v, want ErrConflict", err)
	}
	page, err := other.Query(t.Context(), store.Query{Prefix: "MEMORY#"})
	errtest.Must(t, err)
	if len(page.Items) != 2 {
		t.Errorf("%d items, want 2", len(page.Items))
	}
}

// TestStore_SpreadCost states what operations on a spread company cost: of 8 sub-partitions, and of 64 that had 8 before.
func TestStore_SpreadCost(t *testing.T) {
	t.Parallel()
	clock, meter, company := clocktest.At(begin), &dynamostore.Meter{}, id.New()
	s := newStore(t, dynamostore.Options{Meter: meter, Now: clock.Now})
	c := store.For(s, company)
	create := func(key string) func() error {
		return func() error { return c.Commit(t.Context(), c.Create(key, "note", struct{}{})) }
	}
	dated := func() string { return "DELIVERY#" + id.At(clock.Now(), fmt.Sprint(clock.Now())) + "#webhook" }
	get := func(key string) func() error {
		return func() error { _, err := c.Get(t.Context(), key, nil); return err }
	}
	query := func(q store.Query) func() error {
		return func() error { _, err := c.Query(t.Context(), q); return err }
	}
	type cost struct {
		name string
		run  func() error
		want [3]dynamostore.Usage // of 1, 8 and 64 sub-partitions
	}
	one := dynamostore.Usage{Trips: 1, Read: 1}
	tests := []cost{
		{"get the integration", get("INTEGRATION#webhook"), [3]dynamostore.Usage{one, one, one}},
		{"get a memory of the first level", get("MEMORY#1"), [3]dynamostore.Usage{one, {Trips: 2, Read: 2}, {Trips: 3, Read: 3}}},
		{"get a missing memory", get("MEMORY#0"), [3]dynamostore.Usage{one, {Trips: 2, Read: 2}, {Trips: 3, Read: 3}}},
		{"list 20 memories", query(store.Query{Prefix: "MEMORY#", Limit: 20}), [3]dynamostore.Usage{one, {Trips: 9, Read: 9}, {Trips: 65, Read: 65}}},
		{"list the users", query(store.Query{Prefix: "USER#"}), [3]dynamostore.Usage{one, one, one}},
	}
	measure := func(name string, run func() error, want dynamostore.Usage) {
		t.Helper()
		meter.Take()
		err := run()
		if diff := cmp.Diff(want, meter.Take()); diff != "" {
			t.Errorf("%s (-want +got):\n%s%v", name, diff, err)
		}
	}
	errtest.Must(t, create("MEMORY#1")())
	for n, parts := range store.PartCounts() {
		if parts > 1 {
			grow(t, s, company, parts)
			clock.Advance(begun)
			errtest.Must(t, query(store.Query{Prefix: "MEMORY#"})()) // it also reads the list of spread companies
		}
		for _, tt := range tests {
			measure(fmt.Sprintf("%s of %d sub-partitions", tt.name, parts), tt.run, tt.want[n])
		}
		write := dynamostore.Usage{Trips: 1, Write: 1}
		measure("create a delivery", create(dated()), write)
		fresh := fmt.Sprint("MEMORY#fresh-", parts)
		sought := dynamostore.Usage{Trips: 1 + n, Write: 1}
		if n > 0 {
			sought.Trips, sought.Read = 2+n, float64(1+n)
		}
		measure("create a memory", create(fresh), sought)
		measure("replace it", func() error { return c.Commit(t.Context(), c.Replace(fresh, "note", 1, struct{}{})) }, write)
	}
}

// TestStore_SpreadListHeld reads an item while another call of the process waits for the list of spread companies.
func TestStore_SpreadListHeld(t *testing.T) {
	t.Parallel()
	proxy, clock := dynamo.Through(t), clocktest.At(begin)
	c := store.For(newStoreAt(t, proxy.Access(), dynamostore.Options{Now: clock.Now}), id.New())
	errtest.Must(t, c.Commit(t.Context(), c.Create("MEMORY#1", "note", struct{}{})))
	clock.Advance(2 * time.Minute) // the list is due
	held, waited := make(chan struct{}), make(chan error, 1)
	proxy.Play(awstest.Step{Operation: "GetItem", Held: held})
	read := func() error {
		_, err := c.Get(t.Context(), "MEMORY#1", nil)
		return err
	}
	go func() { waited <- read() }()
	<-held
	before := proxy.Calls("GetItem")
	errtest.Must(t, read())
	if n := proxy.Calls("GetItem") - before; n != 1 {
		t.Errorf("%d requests, want the item's alone: the call has waited until the list was asked for again", n)
	}
	held <- struct{}{}
	errtest.Must(t, <-waited)
}
