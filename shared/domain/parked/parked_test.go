package parked_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/parked"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/metrictest"
	"orgops/shared/testkit/webtest"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// change returns a change of company acme whose new image has this body.
func change(body string) store.Change {
	return store.Change{
		Sequence: "7", Company: "acme", Key: "MEMORY#1", Entity: "memory", At: now.Add(-time.Minute),
		Old: &store.Image{Version: 1, Body: []byte(`{}`)}, New: &store.Image{Version: 2, Body: []byte(body)},
	}
}

func list(t *testing.T, s store.Store) []parked.Change {
	t.Helper()
	page, err := store.For(s, "acme").Query(t.Context(), store.Query{Prefix: parked.Prefix})
	errtest.Must(t, err)
	var all []parked.Change
	for _, item := range page.Items {
		c, err := parked.Decode(item.Body)
		errtest.Must(t, err)
		if want := parked.Key(c.ID); item.Key != want {
			t.Errorf("key %s, want %s", item.Key, want)
		}
		if want := c.ParkedAt.Add(parked.Kept); !item.Expires.Equal(want) {
			t.Errorf("expires at %v, want %v", item.Expires, want)
		}
		all = append(all, c)
	}
	return all
}

// TestLot_Park parks a change for two consumers, each once, and outside of the feed.
func TestLot_Park(t *testing.T) {
	t.Parallel()
	s := webtest.OpenStore(t)
	metrics, log := metrictest.New(time.Now)
	c := change(`no JSON "`)
	for _, consumer := range []string{"dispatcher", "dispatcher", "projector"} {
		lot := parked.Lot{Store: s, Consumer: consumer, Logger: slog.New(slog.DiscardHandler), Metrics: metrics, Now: func() time.Time { return now }}
		errtest.Must(t, lot.Park(t.Context(), c, errors.New("odd")))
	}
	all := list(t, s)
	if len(all) != 2 {
		t.Fatalf("%d parked changes, want 2: %+v", len(all), all)
	}
	consumers := map[string]bool{}
	for _, p := range all {
		consumers[p.Consumer] = true
		if p.Reason != "odd" {
			t.Errorf("reason %q, want odd", p.Reason)
		}
		got, err := p.Original("acme")
		errtest.Must(t, err)
		if diff := cmp.Diff(c, got); diff != "" {
			t.Errorf("original differs (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(map[string]bool{"dispatcher": true, "projector": true}, consumers); diff != "" {
		t.Errorf("consumers differ (-want +got):\n%s", diff)
	}
	metrics.Flush("")
	if diff := cmp.Diff(map[string]float64{"ChangesParked": 2}, metrictest.Sums(t, log.String())); diff != "" {
		t.Errorf("metrics differ (-want +got):\n%s", diff)
	}
	ctx, stop := context.WithCancel(t.Context())
	acme := store.For(s, "acme")
	errtest.Must(t, acme.Commit(ctx, acme.Create("MARK", "mark", struct{}{})))
	errtest.Must(t, s.Consume(ctx, webtest.Consumer, func(_ context.Context, b store.Batch, done func(error)) {
		for _, c := range b.Changes {
			if c.Entity != "mark" {
				t.Errorf("the feed has %s, want only the mark", c.Key)
			}
		}
		done(nil)
		stop()
	}))
}

// TestLot_Park_Large keeps what identifies a change whose images are too large.
func TestLot_Park_Large(t *testing.T) {
	t.Parallel()
	s := webtest.OpenStore(t)
	lot := parked.Lot{Store: s, Consumer: "dispatcher", Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }}
	large := make([]byte, store.MaxBody)
	errtest.Must(t, lot.Park(t.Context(), change(string(large)), errors.New(string(large))))
	all := list(t, s)
	if len(all) != 1 {
		t.Fatalf("%d parked changes, want 1", len(all))
	}
	if got, want := [2]any{all[0].Key, all[0].Omitted}, [2]any{"MEMORY#1", true}; got != want {
		t.Errorf("parked key and omitted = %v, want %v", got, want)
	}
	if n := len(all[0].Reason); n != 1024 {
		t.Errorf("a reason of %d bytes, want 1024", n)
	}
	if _, err := all[0].Original("acme"); err == nil {
		t.Error("the original of a change without images: no error")
	}
}

// TestLot_ParkRecord keeps the attributes of a record, bytes that are no text among them.
func TestLot_ParkRecord(t *testing.T) {
	t.Parallel()
	s := webtest.OpenStore(t)
	lot := parked.Lot{Store: s, Consumer: "dispatcher", Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }}
	image := map[string]string{"pk": "C#acme", "sk": "MEMORY#1", "version": "x", "packed": "\x1f\x8b\xff"}
	r := parked.NewRecord("007", now, nil, image)
	errtest.Must(t, lot.ParkRecord(t.Context(), store.Change{}, r, errors.New("of no company")))
	errtest.Must(t, lot.ParkRecord(t.Context(), store.Change{Company: "acme", Key: "MEMORY#1", Sequence: "7", At: now}, r, errors.New("version")))
	all := list(t, s)
	if len(all) != 1 {
		t.Fatalf("%d parked changes, want 1: %+v", len(all), all)
	}
	before, after := all[0].Record.Attributes()
	if before != nil {
		t.Errorf("attributes before = %v, want none", before)
	}
	if diff := cmp.Diff(image, after); diff != "" {
		t.Errorf("attributes differ (-want +got):\n%s", diff)
	}
}

// TestLot_Remove removes a parked change at its version only.
func TestLot_Remove(t *testing.T) {
	t.Parallel()
	s := webtest.OpenStore(t)
	lot := parked.Lot{Store: s, Consumer: "dispatcher", Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }}
	errtest.Must(t, lot.Park(t.Context(), change(`{}`), errors.New("odd")))
	key := parked.Key(list(t, s)[0].ID)
	errtest.Must(t, lot.Remove(t.Context(), "acme", key, 2))
	if n := len(list(t, s)); n != 1 {
		t.Errorf("%d parked changes after a removal of another version, want 1", n)
	}
	errtest.Must(t, lot.Remove(t.Context(), "acme", key, 1))
	if n := len(list(t, s)); n != 0 {
		t.Errorf("%d parked changes after the removal, want 0", n)
	}
}
