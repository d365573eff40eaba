package blackbox_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// item is a memory or a goal. Lists have them by id, which differs from run to run, so that any of them may be on a page.
type item struct{ ID, ExternalID string }

// firstNamed returns the id of the item whose name at its provider is the first one, "" without items.
func firstNamed(a answer) string {
	items := decode[struct{ Items []item }](a.body).Items
	if len(items) == 0 {
		return ""
	}
	return slices.MinFunc(items, func(a, b item) int { return cmp.Compare(a.ExternalID, b.ExternalID) }).ID
}

// paged follows the Link headers of a list, checks that each but the last one is full, and checks all items as one step.
func (j *journey) paged(name, list string, limit int) {
	j.t.Helper()
	first := get(fmt.Sprintf("%s?limit=%d", list, limit))
	all, at := []any{}, first
	var last answer
	for {
		last = j.peek(at)
		page := decode[struct {
			Items      []any
			NextCursor string
		}](last.body)
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			break
		}
		if len(page.Items) != limit {
			j.t.Errorf("%s: a page of %d items leads to another one, want %d", name, len(page.Items), limit)
		}
		at = j.follow(at, next(last))
	}
	last.body, _ = json.Marshal(object{"items": all}) // decoded JSON
	j.check(j.stepOf(name, first, last))
}
