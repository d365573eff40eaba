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

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
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

// TestStore_Packed checks that a large body outside the feed is stored packed, which changes only its cost.
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
	if shown, quiet := commit(c.Create("SHOWN", "note", large)), commit(c.Create("QUIET", "note", large).Quietly()); shown != 11 || quiet != 1 {
		t.Errorf("shown: %g units, want 11; quiet: %g, want 1", shown, quiet)
	}
	if got := commit(c.Replace("QUIET", "note", 1, large).Quietly(), c.Create("OTHER", "note", large).Quietly()); got != 4 {
		t.Errorf("in a transaction: %g units, want 4", got)
	}
	item, err := c.Get(t.Context(), "QUIET", nil)
	if err != nil || !bytes.Equal(item.Body, large) || item.Version != 2 {
		t.Errorf("got %s, %v", item.Body, err)
	}
	page, err := c.Query(t.Context(), store.Query{})
	if err != nil || len(page.Items) != 3 {
		t.Fatalf("%d items, %v", len(page.Items), err)
	}
	for _, item := range page.Items {
		if !bytes.Equal(item.Body, large) {
			t.Errorf("%s: %s", item.Key, item.Body)
		}
	}
	commit(c.Replace("QUIET", "note", 2, json.RawMessage(`{}`))) // the feed shows the old image
	want := []*store.Image{nil, {Version: 2, Body: large}}
	if diff := cmp.Diff(want, before(t, s, 2)); diff != "" {
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
	if err != nil || !ok || string(got.New.Body) != `{"n":1}` {
		t.Errorf("%+v, %t, %v", got, ok, err)
	}
	for name, packed := range map[string]string{
		"not packed": `{"n":1}`, "cut off": gzipped(t, `{"n":1}`)[:12], "too large": gzipped(t, strings.Repeat(" ", store.MaxBody+1)),
	} {
		if got, _, err := (dynamostore.Record{New: item(packed)}).Change(); err == nil {
			t.Errorf("%s: %s", name, got.New.Body)
		}
	}
}
