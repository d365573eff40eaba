package simstore

import (
	"slices"
	"strings"
	"time"

	"orgops/shared/storage/store"
	"orgops/shared/storage/store/expiry"
)

// pageBytes ends a page, as DynamoDB does after a megabyte.
const pageBytes = 1 << 20

// Query returns one page of a partition's items that exist at now. Expired items count towards the limit, as in DynamoDB,
// where a filter drops them from the page.
func (t *Table) Query(now time.Time, p store.Partition, q store.Query) store.Page {
	t.mu.Lock()
	defer t.mu.Unlock()
	part := t.partitions[p]
	if part == nil {
		return store.Page{}
	}
	keys := part.between(q)
	limit := store.MaxPage
	if q.Limit > 0 {
		limit = min(limit, q.Limit)
	}
	page, bytes := store.Page{}, 0
	for n, key := range keys {
		r := part.rows[key]
		if bytes += len(r.Body); expiry.Live(r.Expires, now) {
			page.Items = append(page.Items, r.Item)
		}
		if n+1 < len(keys) && (n+1 == limit || bytes >= pageBytes) {
			page.Next = key
			break
		}
	}
	return page
}

// between returns the keys that a query selects, in its direction.
func (p *partition) between(q store.Query) []string {
	within := func(key string) bool {
		switch {
		case !strings.HasPrefix(key, q.Prefix), key < q.From, q.To != "" && key > q.To:
			return false
		case q.After == "":
			return true
		case q.Desc:
			return key < q.After
		}
		return key > q.After
	}
	first, _ := slices.BinarySearch(p.keys, max(q.Prefix, q.From))
	var keys []string
	for _, key := range p.keys[first:] {
		if q.To != "" && key > q.To || !strings.HasPrefix(key, q.Prefix) && key > q.Prefix {
			break
		}
		if within(key) {
			keys = append(keys, key)
		}
	}
	if q.Desc {
		slices.Reverse(keys)
	}
	return keys
}
