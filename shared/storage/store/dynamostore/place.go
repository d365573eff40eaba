package dynamostore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"orgops/shared/storage/store"
)

// home is a partition in which an item may lie.
type home struct {
	store.Partition
	former bool // of a former level, in which no item is created any more
}

// homes returns the partitions in which a company's item may lie, first that in which it would be created now.
//
// A key with a time has one home, that of its time's level. Any other key has one of each level. No item is created at a former level,
// so an item that a former level lacks can only come to the present one.
func (l levels) homes(p store.Partition, key string, now time.Time) []home {
	if at, dated := store.DateOf(key); dated {
		return []home{{Partition: l.part(p, key, l.at(at))}}
	}
	present := l.at(now)
	all := []home{{Partition: l.part(p, key, present)}}
	counts := []int{1}
	for _, one := range l {
		counts = append(counts, one.Parts)
	}
	for _, parts := range slices.Backward(counts) {
		one := home{l.part(p, key, parts), parts < present}
		if !slices.ContainsFunc(all, func(h home) bool { return h.Partition == one.Partition }) {
			all = append(all, one)
		}
	}
	return all
}

func (levels) part(p store.Partition, key string, parts int) store.Partition {
	if parts == 1 {
		return p
	}
	return p.Part(store.PartOf(key, parts))
}

// spreadOf returns the levels of the company of an item, none if the item cannot lie in a sub-partition.
func (s *Store) spreadOf(ctx context.Context, p store.Partition, key string) (levels, error) {
	company, owned := p.CompanyID()
	if !owned || !store.Spreads(key) {
		return nil, nil
	}
	return s.levels(ctx, company)
}

// find returns the attributes of an item with its home remembered, nil if there is no such item.
func (s *Store) find(ctx context.Context, l levels, p store.Partition, key string) (attributes, error) {
	if len(l) == 0 {
		return s.row(ctx, p.String(), key, true)
	}
	now := s.o.Now()
	row, at, err := s.seek(ctx, l.homes(p, key, now), key)
	if err == nil {
		s.places.put(l, p, key, at, now)
	}
	return row, err
}

// seek returns the attributes of an item and the home in which it lies; nil, and the home in which it would be created, if no home has
// it. A tombstone is no item, but a new item is created over that of a former level: the changes of a key come from one partition while
// its former ones may still be on their way. Most items lie at the present level, so seek looks there first.
func (s *Store) seek(ctx context.Context, homes []home, key string) (attributes, home, error) {
	row, err := s.row(ctx, homes[0].String(), key, true)
	if err != nil || is(row) || len(homes) == 1 {
		return row, homes[0], err
	}
	rows, errs := make([]attributes, len(homes)), make([]error, len(homes))
	inParallel(len(homes)-1, func(i int) { rows[i+1], errs[i+1] = s.row(ctx, homes[i+1].String(), key, true) })
	if err := errors.Join(errs...); err != nil {
		return nil, home{}, err
	}
	row, at := choose(homes, rows)
	return row, at, nil
}

// choose returns what seek does, by the rows of all homes.
func choose(homes []home, rows []attributes) (attributes, home) {
	for i, row := range rows {
		if is(row) {
			return row, homes[i]
		}
	}
	for i, row := range rows {
		if row != nil && homes[i].former {
			return nil, homes[i]
		}
	}
	return nil, homes[0]
}

// is reports whether a row is an item, which may have expired, and not a tombstone.
func is(row attributes) bool { return row != nil && row[attrGone] == nil }

// spreadCalls limits the calls that one operation makes at the same time.
const spreadCalls = 16

// inParallel calls do with 0 to n-1.
func inParallel(n int, do func(int)) {
	var wg sync.WaitGroup
	turns := make(chan struct{}, spreadCalls)
	for i := range n {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			do(i)
		})
	}
	wg.Wait()
}

// placed is an op in the sub-partition of its item.
type placed struct {
	store.Op
	// over means that the item, which has expired or was deleted, lies at a former level. A create may only write over it there, so that
	// no item is created at a former level where nothing is.
	over    bool
	guessed bool             // the home was remembered, or TTL may remove what is in it, so the item may lie elsewhere by now
	guard   *store.Partition // another home that must lack the item: of the level that another process may use at the same time
}

// place returns the ops in the sub-partitions of their items.
func (s *Store) place(ctx context.Context, ops []store.Op) ([]placed, error) {
	all, errs := make([]placed, len(ops)), make([]error, len(ops))
	now := s.o.Now()
	var search []func()
	for i, op := range ops {
		all[i].Op = op
		l, err := s.spreadOf(ctx, op.Partition, op.Key)
		if err != nil {
			return nil, err
		}
		if len(l) == 0 {
			continue
		}
		if at, known := s.places.get(l, op.Partition, op.Key, now); known {
			all[i].put(at, at.former)
			continue
		}
		search = append(search, func() { errs[i] = s.search(ctx, l, &all[i], now) })
	}
	inParallel(len(search), func(i int) { search[i]() })
	return all, errors.Join(errs...)
}

// put places an op in a home.
func (p *placed) put(h home, guessed bool) {
	p.over = h.former && p.Condition == store.IfAbsent
	p.guessed = guessed || p.over
	p.Partition = h.Partition
}

// search places an op in the home that has its item.
func (s *Store) search(ctx context.Context, l levels, op *placed, now time.Time) error {
	base, homes := op.Partition, l.homes(op.Partition, op.Key, now)
	if len(homes) == 1 {
		op.put(homes[0], false)
		return nil
	}
	_, at, err := s.seek(ctx, homes, op.Key)
	if err != nil {
		return err
	}
	op.put(at, false)
	if other, mixed := l.mixed(now); mixed && !op.over && op.Condition == store.IfAbsent {
		if guard := l.part(base, op.Key, other); guard != at.Partition {
			op.guard = &guard
		}
	}
	s.places.put(l, base, op.Key, at, now)
	return nil
}

// placesKept limits how long a process remembers where an item lies, and placesMost how many.
const (
	placesKept = time.Minute
	placesMost = 4096
)

// places remembers where items of spread companies lie, so that a write after a read searches nothing. It holds keys with more than one
// home alone.
type places struct {
	mu      sync.Mutex
	now     map[placeKey]seen
	earlier map[placeKey]seen
}

type placeKey struct{ partition, key string }

type seen struct {
	home
	at    time.Time
	parts int // of the present level
}

func (c *places) get(l levels, p store.Partition, key string, now time.Time) (home, bool) {
	if _, mixed := l.mixed(now); mixed {
		return home{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	name := placeKey{p.String(), key}
	was, ok := c.now[name]
	if !ok {
		was, ok = c.earlier[name]
	}
	return was.home, ok && now.Sub(was.at).Abs() < placesKept && was.parts == l.at(now)
}

func (c *places) put(l levels, p store.Partition, key string, at home, now time.Time) {
	_, dated := store.DateOf(key)
	if _, mixed := l.mixed(now); mixed || dated {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.now) >= placesMost/2 || c.now == nil {
		c.now, c.earlier = map[placeKey]seen{}, c.now
	}
	c.now[placeKey{p.String(), key}] = seen{at, now, l.at(now)}
}

// forget drops what is remembered about the items of ops.
func (c *places) forget(ops []store.Op) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, op := range ops {
		delete(c.now, placeKey{op.Partition.String(), op.Key})
		delete(c.earlier, placeKey{op.Partition.String(), op.Key})
	}
}
