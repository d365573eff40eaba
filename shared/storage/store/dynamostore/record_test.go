package dynamostore_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
)

func TestRecord_Change(t *testing.T) {
	t.Parallel()
	const at = "1700000000123"
	written, created := time.UnixMilli(1700000000123).UTC(), time.Unix(1700000007, 0).UTC()
	item := func(version, body string, more ...string) map[string]string {
		m := map[string]string{"pk": "C#acme", "sk": "NOTE#1", "entity": "note", "version": version, "at": at, "body": body}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	image := func(version int64, body string) *store.Image {
		return &store.Image{Version: version, Body: json.RawMessage(body)}
	}
	change := func(when time.Time, before, after *store.Image) *store.Change {
		return &store.Change{Sequence: "42", Company: "acme", Key: "NOTE#1", Entity: "note", At: when, Stored: created, Old: before, New: after}
	}
	tomb := item("1", "", "gone", "true", "expires", "1699996400")
	tests := []struct {
		name     string
		old, new map[string]string
		want     *store.Change // nil: not in the feed
	}{
		{"created", nil, item("1", `{"n":1}`), change(written, nil, image(1, `{"n":1}`))},
		{"replaced", item("1", `{"n":1}`), item("2", `{"n":2}`), change(written, image(1, `{"n":1}`), image(2, `{"n":2}`))},
		{"deleted", item("1", `{"n":1}`), tomb, change(written, image(1, `{"n":1}`), nil)},
		{"deleted quietly", item("1", `{"n":1}`), item("1", "", "gone", "true", "quiet", "true"), nil},
		{"created over a tombstone", tomb, item("1", `{"n":2}`), change(written, nil, image(1, `{"n":2}`))},
		{"tombstone removed", tomb, nil, nil},
		{"created quietly", nil, item("1", `{}`, "quiet", "true"), nil},
		{"quiet, then not", item("1", `{}`, "quiet", "true"), item("2", `{}`), change(written, image(1, `{}`), image(2, `{}`))},
		{"expired and removed", item("1", `{}`, "expires", "1700000000"), nil, change(created, image(1, `{}`), nil)},
		{"quiet, expired and removed", item("1", `{}`, "quiet", "true"), nil, nil},
		{"created over an expired item", item("1", `{}`, "expires", "1700000000"), item("1", `{"n":2}`), change(written, image(1, `{}`), image(1, `{"n":2}`))},
		{"created quietly over an expired item", item("1", `{}`, "expires", "1700000000"), item("1", `{"n":2}`, "quiet", "true"), change(written, image(1, `{}`), nil)},
		{"replaced quietly", item("1", `{}`, "expires", "1700000001"), item("2", `{"n":2}`, "quiet", "true"), nil},
		{"in a shared partition", nil, map[string]string{"pk": "SYSTEM", "sk": "MARK"}, nil},
	}
	for _, tt := range tests {
		c, ok, err := dynamostore.Record{Sequence: "000042", Created: created, Old: tt.old, New: tt.new}.Change()
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got *store.Change
		if ok {
			got = &c
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
