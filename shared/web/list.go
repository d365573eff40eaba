package web

import (
	"context"

	"orgops/shared/storage/store"
)

// maxScanned limits how many stored pages one request reads for a filter that few items pass. A page may be short or empty
// and still have a next page.
const maxScanned = 10

// MaxListed limits the bytes of the items on a page, as they are stored. A Lambda's answer has at most 6 MB, in which the page is a
// JSON text inside of JSON, and so may be twice as long.
const MaxListed = 5 << 19

// List returns a page of the tenant's items that match a query and pass keep. filters holds the values that keep depends
// on. The cursor is valid only with the same filters.
func List[T any](ctx context.Context, page PageQuery, q store.Query, keep func(T) bool, filters ...string) (*PageOutput[T], error) {
	var err error
	if q.After, err = page.After(ctx, filters...); err != nil {
		return nil, err
	}
	items, size, last := []T{}, 0, q.After
	for range maxScanned {
		q.Limit = page.Size() - len(items)
		found, err := Tenant(ctx).Query(ctx, q)
		if err != nil {
			return nil, store.Fault(err, "")
		}
		for _, item := range found.Items {
			var v T
			if err := item.Decode(&v); err != nil {
				return nil, err
			}
			if keep(v) {
				if size += len(item.Body); size > MaxListed && len(items) > 0 {
					return NewPage(ctx, items, last, filters...), nil
				}
				items = append(items, v)
			}
			last = item.Key
		}
		if q.After = found.Next; q.After == "" || len(items) == page.Size() {
			break
		}
	}
	return NewPage(ctx, items, q.After, filters...), nil
}
