package web

import (
	"context"
	"encoding/json"
	"fmt"

	"orgops/shared/store"
)

// scanned is how many stored pages one request goes through for a filter that little passes; a page may then be short,
// even empty, and still have a next one.
const scanned = 10

// List answers the page of a query of the tenant's items that passes a filter. filters are what keep depends on: they
// bind the cursor.
func List[T any](ctx context.Context, page PageQuery, q store.Query, keep func(T) bool, filters ...string) (*PageOutput[T], error) {
	var err error
	if q.After, err = page.After(ctx, filters...); err != nil {
		return nil, err
	}
	items := []T{}
	for range scanned {
		q.Limit = page.Size() - len(items)
		found, err := Tenant(ctx).Query(ctx, q)
		if err != nil {
			return nil, store.Fault(err, "")
		}
		for _, item := range found.Items {
			var v T
			if err := json.Unmarshal(item.Body, &v); err != nil {
				return nil, fmt.Errorf("decode %s: %w", item.Key, err)
			}
			if keep(v) {
				items = append(items, v)
			}
		}
		if q.After = found.Next; q.After == "" || len(items) == page.Size() {
			break
		}
	}
	return NewPage(ctx, items, q.After, filters...), nil
}
