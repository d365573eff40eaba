package dynamostore

import (
	"context"
	"errors"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"orgops/shared/storage/store"
)

const (
	// mergeRounds limits the rounds of requests of one Query of a spread company.
	mergeRounds = 2 * maxRounds
	// mergeBytes limits the total size of the bodies of its page.
	mergeBytes = 1 << 20
)

// merging reads the sub-partitions of a company as one list in the order of keys.
type merging struct {
	store   *Store
	q       store.Query
	limit   int
	sources []*source
	page    store.Page
	from    []store.Partition // of the page's items
	size    int               // bytes of the page's bodies
}

// source reads one sub-partition.
type source struct {
	partition store.Partition
	in        *dynamodb.QueryInput
	items     []store.Item // read, and not yet part of the page
	done      bool         // no items follow
	read      string       // the key up to which it was read
}

// merge returns one page of a company with levels.
func (s *Store) merge(ctx context.Context, l levels, p store.Partition, q store.Query, r span, limit int) (store.Page, error) {
	m := merging{store: s, q: q, limit: limit}
	all := []store.Partition{p}
	for n := range l.most() {
		all = append(all, p.Part(n))
	}
	share := float64(limit) / float64(len(all))
	for _, part := range all {
		in := s.queryInput(part, q, r)
		// The items of a page are spread by chance, so some sub-partitions have more than their share.
		in.Limit = aws.Int32(int32(min(float64(limit), share+2*math.Sqrt(share)+1) + 1))
		m.sources = append(m.sources, &source{partition: part, in: in})
	}
	finished := false
	for range mergeRounds {
		if err := m.fetch(ctx, r); err != nil {
			return store.Page{}, err
		}
		if finished = m.take(""); finished {
			break
		}
	}
	if !finished {
		m.cut()
	}
	now := s.o.Now()
	for i, item := range m.page.Items {
		present := l.part(p, item.Key, l.at(now))
		s.places.put(l, p, item.Key, home{m.from[i], m.from[i] != present}, now)
	}
	return m.page, nil
}

// fetch reads on in each sub-partition of which nothing is at hand.
func (m *merging) fetch(ctx context.Context, r span) error {
	var dry []*source
	for _, from := range m.sources {
		if len(from.items) == 0 && !from.done {
			dry = append(dry, from)
		}
	}
	errs := make([]error, len(dry))
	inParallel(len(dry), func(i int) { errs[i] = m.store.fetch(ctx, dry[i], r) })
	return errors.Join(errs...)
}

// fetch makes one request for a sub-partition.
func (s *Store) fetch(ctx context.Context, from *source, r span) error {
	ctx, call := begin(ctx)
	out, err := s.client.Query(ctx, from.in)
	if err != nil {
		s.o.Meter.add(call.trips, nil)
		return call.contractError(ctx, err)
	}
	s.o.Meter.add(call.trips, reading(out.ConsumedCapacity))
	if from.items, err = appendItems(from.items, out.Items, r); err != nil {
		return err
	}
	if from.in.ExclusiveStartKey = out.LastEvaluatedKey; out.LastEvaluatedKey == nil {
		from.done = true
		return nil
	}
	if len(from.items) == 0 { // expired items are often neighbours, so ask for more
		from.in.Limit = aws.Int32(max(*from.in.Limit, laterRounds))
	}
	from.read, err = keyOf(out.LastEvaluatedKey)
	return err
}

// before reports whether a key comes before another one in the query's direction.
func (m *merging) before(a, b string) bool {
	if m.q.Desc {
		return a > b
	}
	return a < b
}

// take moves items into the page, up to the key to. It reports whether the page is finished. It is not finished while a sub-partition
// has to be read on, because its next key is unknown; with a key to, which all of them have been read up to, none has to be.
func (m *merging) take(to string) bool {
	for {
		var first *source
		for _, from := range m.sources {
			switch {
			case len(from.items) > 0:
				if first == nil || m.before(from.items[0].Key, first.items[0].Key) {
					first = from
				}
			case !from.done && to == "":
				return false
			}
		}
		if first == nil || to != "" && m.before(to, first.items[0].Key) {
			return true
		}
		if n := len(m.page.Items); n == m.limit || m.size >= mergeBytes {
			m.page.Next = m.page.Items[n-1].Key
			return true
		}
		item := first.items[0]
		first.items = first.items[1:]
		m.size += len(item.Body)
		m.page.Items, m.from = append(m.page.Items, item), append(m.from, first.partition)
	}
}

// cut ends a page of which too many items have expired, at the last key up to which every sub-partition was read.
func (m *merging) cut() {
	to := ""
	for _, from := range m.sources {
		if len(from.items) == 0 && !from.done && (to == "" || m.before(from.read, to)) {
			to = from.read
		}
	}
	m.take(to)
	if m.page.Next == "" {
		m.page.Next = to
	}
}
