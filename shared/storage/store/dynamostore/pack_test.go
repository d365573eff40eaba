package dynamostore_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/testkit/errtest"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestStore_Packed checks that a large body is stored packed, which changes only its cost.
func TestStore_Packed(t *testing.T) {
	t.Parallel()
	meter := &dynamostore.Meter{}
	s := newStore(t, dynamostore.Options{Meter: meter, Consumers: []string{"one"}})
	c := store.For(s, id.New())
	large := json.RawMessage(`{"text":"` + strings.Repeat("a text ", 1500) + `"}`)
	commit := func(ops ...store.Op) float64 {
		t.Helper()
		meter.Take()
		if err := c.Commit(t.Context(), ops...); err != nil {
			t.Fatal(err)
		}
		return meter.Take().Write
	}
	type units struct{ shown, quiet, transaction float64 }
	got := units{
		shown:       commit(c.Create("SHOWN", "note", large)),
		quiet:       commit(c.Create("QUIET", "note", large).Quietly()),
		transaction: commit(c.Replace("QUIET", "note", 1, large).Quietly(), c.Create("OTHER", "note", large).Quietly()),
	}
	if want := (units{1, 1, 4}); got != want {
		t.Errorf("write units %+v, want %+v", got, want)
	}
	item, err := c.Get(t.Context(), "QUIET", nil)
	errtest.Must(t, err)
	page, err := c.Query(t.Context(), store.Query{})
	errtest.Must(t, err)
	want := []store.Item{
		{Key: "QUIET", Version: 2, Body: large},
		{Key: "OTHER", Version: 1, Body: large}, {Key: "QUIET", Version: 2, Body: large}, {Key: "SHOWN", Version: 1, Body: large},
	}
	if diff := cmp.Diff(want, append([]store.Item{item}, page.Items...), cmpopts.IgnoreFields(store.Item{}, "Entity", "At")); diff != "" {
		t.Errorf("the item and all items (-want +got):\n%s", diff)
	}
	commit(c.Replace("QUIET", "note", 2, json.RawMessage(`{}`))) // the feed shows the old image
	if diff := cmp.Diff([]*store.Image{nil, {Version: 2, Body: large}}, before(t, s, 2)); diff != "" {
		t.Errorf("the feed (-want +got):\n%s", diff)
	}
}

// before returns the old images of the first n changes.
func before(t *testing.T, s *dynamostore.Store, n int) (images []*store.Image) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := s.Consume(ctx, "one", func(_ context.Context, b store.Batch, done func(error)) {
		for _, change := range b.Changes {
			images = append(images, change.Old)
		}
		if len(images) >= n {
			cancel()
		}
		done(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	return images
}

func TestRecord_Packed(t *testing.T) {
	t.Parallel()
	item := func(packed string) map[string]string {
		return map[string]string{"pk": "C#acme", "sk": "NOTE#1", "entity": "note", "version": "1", "at": "1700000000123", "packed": packed}
	}
	got, ok, err := dynamostore.Record{New: item(gzipped(t, `{"n":1}`))}.Change()
	errtest.Must(t, err)
	if !ok {
		t.Fatal("packed item is not in the feed")
	}
	if diff := cmp.Diff(&store.Image{Version: 1, Body: json.RawMessage(`{"n":1}`)}, got.New); diff != "" {
		t.Errorf("image (-want +got):\n%s", diff)
	}
	for name, packed := range map[string]string{
		"not packed": `{"n":1}`, "cut off": gzipped(t, `{"n":1}`)[:12], "too large": gzipped(t, strings.Repeat(" ", store.MaxBody+1)),
	} {
		if got, _, err := (dynamostore.Record{New: item(packed)}).Change(); err == nil {
			t.Errorf("%s: read as %s, want an error", name, got.New.Body)
		}
	}
}
