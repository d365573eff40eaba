package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"orgops/shared/storage/store"
)

const (
	// spreadAhead is the time between the announcement of a level and the first write that uses it. Every reader knows the level
	// before that: a process reads the list of spread companies again after spreadFresh, and uses no list older than spreadStale.
	spreadAhead = 10 * time.Minute
	spreadFresh = time.Minute
	spreadStale = 5 * time.Minute
	// spreadMixed is the time before and after the begin of a level in which a process may create items at the level before, while
	// another already creates at the new one. It covers the difference of clocks and the tries of a commit.
	spreadMixed = 2 * time.Minute

	spreadKey    = "COMPANIES"
	spreadEntity = "spread"
	spreadTries  = 8
)

// level says from when on the new items of a company lie in a number of sub-partitions.
type level struct {
	Parts int       `json:"parts"`
	From  time.Time `json:"from"`
}

// levels holds the levels of a company, in order. Before the first one its items lie in its own partition, as those of a company
// without levels do.
type levels []level

// at returns the number of sub-partitions at a time.
func (l levels) at(t time.Time) int {
	parts := 1
	for _, one := range l {
		if !one.From.After(t) {
			parts = one.Parts
		}
	}
	return parts
}

// most returns the announced number of sub-partitions.
func (l levels) most() int {
	if len(l) == 0 {
		return 1
	}
	return l[len(l)-1].Parts
}

// mixed returns the number of sub-partitions of the level that another process may use while this one uses that of now. ok is false
// while all processes use the same one.
func (l levels) mixed(now time.Time) (other int, ok bool) {
	for i, one := range l {
		if now.Sub(one.From).Abs() >= spreadMixed {
			continue
		}
		if before := l[:i].most(); !one.From.After(now) {
			return before, true
		}
		return one.Parts, true
	}
	return 0, false
}

// companies holds the levels of the companies that have some: the body of one item. There are few of them: a table with a thousand
// companies of 60 changes a second has reached the other limits of a cell.
type companies struct {
	Levels map[string]levels `json:"levels"`
}

// Spread caches the list of spread companies. A process reads it once a minute, for all companies together, so a company that is not
// spread costs nothing. Its zero value is ready. The stores of a process may share it.
type Spread struct {
	mu      sync.Mutex
	read    time.Time // zero: never
	list    companies
	reading bool // a call reads the list; the others go on with the one they have
}

// levels returns the levels of a company.
func (s *Store) levels(ctx context.Context, company string) (levels, error) {
	c, now := s.o.Spread, s.o.Now()
	c.mu.Lock()
	age := now.Sub(c.read).Abs()
	if age < spreadFresh || c.reading && age < spreadStale {
		defer c.mu.Unlock()
		return c.list.Levels[company], nil
	}
	c.reading = true
	c.mu.Unlock()
	list, _, err := s.spreadCompanies(ctx, false)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = false
	switch {
	case err == nil:
		c.list, c.read = list, now
	case age >= spreadStale:
		return nil, err
	}
	return c.list.Levels[company], nil
}

// spreadCompanies reads the list. Readers may get a list that is some seconds old, because levels are announced long ahead.
func (s *Store) spreadCompanies(ctx context.Context, consistent bool) (list companies, version int64, err error) {
	row, err := s.row(ctx, store.Spread().String(), spreadKey, consistent)
	if err != nil || row == nil {
		return list, 0, err
	}
	item, err := scanItem(row)
	if err != nil {
		return list, 0, err
	}
	return list, item.Version, item.Decode(&list)
}

// row returns the attributes of an item, nil for an absent one.
func (s *Store) row(ctx context.Context, partition, key string, consistent bool) (attributes, error) {
	ctx, call := begin(ctx)
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.o.Table, Key: itemKey(partition, key), ConsistentRead: aws.Bool(consistent), ReturnConsumedCapacity: s.capacity(),
	})
	if err != nil {
		s.o.Meter.add(call.trips, nil)
		return nil, call.contractError(ctx, err)
	}
	s.o.Meter.add(call.trips, reading(out.ConsumedCapacity))
	if len(out.Item) == 0 {
		return nil, nil //nolint:nilnil // an absent item has no attributes
	}
	return out.Item, nil
}

// Spread implements store.Spreader.
func (s *Store) Spread(ctx context.Context, company string, parts int) (int, error) {
	if counts := store.PartCounts(); !slices.Contains(counts, parts) {
		return 0, fmt.Errorf("store: %d sub-partitions; choose one of %v", parts, counts)
	}
	for range spreadTries {
		list, version, err := s.spreadCompanies(ctx, true)
		if err != nil {
			return 0, err
		}
		has := list.Levels[company]
		now := s.now()
		if most := has.most(); most >= parts || has.at(now) != most { // one level begins before the next is announced
			return most, nil
		}
		next := maps.Clone(list.Levels)
		if next == nil {
			next = map[string]levels{}
		}
		next[company] = append(slices.Clone(has), level{Parts: parts, From: now.Add(spreadAhead)})
		err = s.Commit(ctx, store.Spread().Entry(spreadKey, spreadEntity, version, companies{next}))
		if !errors.Is(err, store.ErrConflict) {
			return parts, err
		}
	}
	return 0, store.ErrConflict
}

// Parts implements store.Spreader.
func (s *Store) Parts(ctx context.Context, company string) (int, error) {
	l, err := s.levels(ctx, company)
	return l.at(s.o.Now()), err
}
