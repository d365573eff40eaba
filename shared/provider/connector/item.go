package connector

import (
	"encoding/json"
	"errors"

	"orgops/shared/base/text"
	"orgops/shared/domain/integration"
)

// Item holds one item of a list in JSON. Refused says why the item must be left out: a text in it is not valid Unicode, which decoding
// changes. A member of another type than the provider documents is left out alone.
type Item[T any] struct {
	Value   T
	Refused string
}

// UnmarshalJSON implements json.Unmarshaler.
func (i *Item[T]) UnmarshalJSON(raw []byte) error {
	i.Refused = NotUnicode(raw)
	err := json.Unmarshal(raw, &i.Value)
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) {
		return nil
	}
	return err
}

// NotUnicode says where an item in JSON is not valid Unicode, or returns "". Different texts would become the same memory.
func NotUnicode(item []byte) string {
	if text.IsUnicode(item) {
		return ""
	}
	return text.NotUnicodeAt(item) + " " + text.NotUnicode
}

// Refuse leaves an item of the page out. The run does not tell what is gone then, because the item may be stored already.
func (p *FetchedPage) Refuse(item, reason string) {
	p.Incomplete = true
	p.Skipped = append(p.Skipped, Skipped{Item: item, Reason: reason})
}

// Remove notes that the provider says it has deleted the memories and goals of another page.
func (p *FetchedPage) Remove(deleted FetchedPage) {
	for _, m := range deleted.Memories {
		p.Gone = append(p.Gone, Action{Port: integration.MemoryUpsert, Memory: &m, Gone: true})
	}
	for _, g := range deleted.Goals {
		p.Gone = append(p.Gone, Action{Port: integration.GoalUpdate, Goal: &g, Gone: true})
	}
}
