package inflight_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/storage/store"
	"orgops/shared/storage/store/inflight"
)

// desk consumes batches that a test then finishes.
type desk struct {
	*inflight.Window[int]
	track *inflight.Track[int]
	done  []func(error)
}

func newDesk(most int) *desk {
	d := &desk{}
	d.Window = inflight.New[int](most, func(_ context.Context, _ store.Batch, done func(error)) { d.done = append(d.done, done) })
	d.track = d.Track(0)
	return d
}

// hand admits a batch of one change, with the given size and end position, and hands it over.
func (d *desk) hand(t *testing.T, last, bytes int) {
	t.Helper()
	b := &inflight.Batch[int]{Changes: []store.Change{{New: &store.Image{Body: make([]byte, bytes)}}}, Last: last}
	d.track.Admit(last, b)
	d.Hand(t.Context(), b)
}

func (d *desk) expect(t *testing.T, position int, idle bool, room int) {
	t.Helper()
	type state struct {
		position int
		idle     bool
		room     int
	}
	got := state{room: d.Room()}
	got.position, got.idle = d.track.Position()
	if want := (state{position, idle, room}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestWindow_Position(t *testing.T) {
	t.Parallel()
	d := newDesk(3)
	for last := 1; last <= 3; last++ {
		d.hand(t, last, 1)
	}
	d.expect(t, 0, false, 0)
	d.done[1](nil)
	d.expect(t, 0, false, 1) // the first is still in flight
	d.done[0](nil)
	d.done[0](errors.New("a second done is ignored"))
	d.expect(t, 2, false, 2)
	d.track.Admit(9) // read changes that are not for the feed
	d.done[2](nil)
	d.expect(t, 9, true, 3)
	select {
	case <-d.Moved:
	default:
		t.Error("no signal of the moved position")
	}
}

func TestWindow_Failed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(10)
		other := d.Track(0)
		d.hand(t, 1, 1)
		later := &inflight.Batch[int]{Changes: make([]store.Change, 1), Last: 1}
		other.Admit(1, later)
		d.Keep(later)
		d.done[0](errors.New("not now"))
		d.Drain() // nothing is in flight
		d.expect(t, 0, false, 0)
		b, wait, room := d.Next()
		if b != nil {
			t.Fatalf("next: %+v, want no batch before the first track's retry", b)
		}
		if want := inflight.Backoff(1); wait != want {
			t.Fatalf("next: a wait of %v, want %v", wait, want)
		}
		if room != 0 {
			t.Fatalf("next: room for %d, want none", room)
		}
		<-time.After(wait)
		b, _, _ = d.Next()
		want := &inflight.Batch[int]{Changes: []store.Change{{New: &store.Image{Body: make([]byte, 1)}}}, Last: 1, Replay: true}
		if diff := cmp.Diff(want, b, cmpopts.IgnoreUnexported(inflight.Batch[int]{})); diff != "" {
			t.Fatalf("next: not the failed batch as a replay (-want +got):\n%s", diff)
		}
		d.Hand(t.Context(), b)
		d.done[1](nil)
		if b, _, _ = d.Next(); b != later {
			t.Fatalf("next: %+v, want the kept batch", b)
		}
		d.Hand(t.Context(), b)
		d.done[2](nil)
		d.expect(t, 1, true, 10)
	})
}

func TestWindow_Bytes(t *testing.T) {
	t.Parallel()
	d := newDesk(10)
	d.hand(t, 1, 16<<20)
	d.expect(t, 0, false, 0)
	d.done[0](nil)
	d.expect(t, 1, true, 10)
}

// TestWindow_Full checks that one company leaves a quarter of the window, and the next one like it a quarter of that.
func TestWindow_Full(t *testing.T) {
	t.Parallel()
	d := newDesk(64)
	fill := func(company string, bytes int) (n int) {
		for ; !d.Full(company, 1); n++ {
			c := store.Change{Company: company, New: &store.Image{Body: make([]byte, bytes)}}
			b := &inflight.Batch[int]{Changes: []store.Change{c}}
			d.track.Admit(n, b)
			d.Hand(t.Context(), b)
		}
		return n
	}
	got := map[string]int{}
	for _, company := range []string{"a", "b", "c"} {
		got[company] = fill(company, 1)
	}
	if diff := cmp.Diff(map[string]int{"a": 48, "b": 12, "c": 3}, got); diff != "" {
		t.Errorf("changes in flight by company (-want +got):\n%s", diff)
	}
	if !d.Busy("a") {
		t.Error("a company with its share in flight is not busy")
	}
	for _, done := range d.done {
		done(nil)
	}
	if d.Busy("a") {
		t.Error("a company with nothing in flight is busy")
	}
	if n := fill("a", 1<<20); n != 13 {
		t.Errorf("%d changes of 1 MiB of one company in flight, want 13 of 16", n)
	}
}

func TestWindow_Heavy(t *testing.T) {
	t.Parallel()
	d := newDesk(1000)
	d.track.Admit(1, &inflight.Batch[int]{Changes: make([]store.Change, 31)})
	if d.Heavy("") {
		t.Error("a company with 31 changes in flight is heavy")
	}
	d.hand(t, 2, 1)
	if !d.Heavy("") {
		t.Error("a company with 32 changes in flight is not heavy")
	}
}

// TestTrack_Pass checks that a position passes what is not for its track, but no batch in flight.
func TestTrack_Pass(t *testing.T) {
	t.Parallel()
	d := newDesk(3)
	d.track.Pass(4)
	d.expect(t, 4, true, 3)
	d.hand(t, 5, 1)
	d.track.Pass(9)
	d.expect(t, 4, false, 2)
	d.done[0](nil)
	d.expect(t, 9, true, 3)
}

// TestWindow_Run checks that positions are saved when they move, with a pause between, and once more at the end.
func TestWindow_Run(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type saved struct {
			position int
			after    time.Duration
			last     bool
		}
		d := newDesk(10)
		begun := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		var got []saved
		work := func(ctx context.Context) {
			d.hand(t, 1, 1)
			d.hand(t, 2, 1)
			d.hand(t, 3, 1)
			d.done[0](nil)
			synctest.Wait()
			d.done[1](nil)
			<-ctx.Done()
			time.AfterFunc(time.Hour, func() { d.done[2](nil) })
		}
		time.AfterFunc(time.Minute, stop)
		d.Run(ctx, time.Second, work, func(ctx context.Context, last bool) {
			if ctx.Err() != nil {
				t.Error("save under an ended context")
			}
			at, _ := d.track.Position()
			got = append(got, saved{at, time.Since(begun), last})
		})
		end := time.Minute + time.Hour
		if len(got) == 4 { // the last move and the end coincide, so either may be seen first
			got = append(got[:2], got[3])
		}
		want := []saved{{1, 0, false}, {2, time.Second, false}, {3, end, true}}
		if !slices.Equal(got, want) {
			t.Errorf("saved %+v, want %+v", got, want)
		}
	})
}
