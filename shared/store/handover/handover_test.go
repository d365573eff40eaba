package handover_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"orgops/shared/store"
	"orgops/shared/store/handover"
)

// desk is a consumer that a test finishes batches for.
type desk struct {
	*handover.Window[int]
	lane *handover.Lane[int]
	done []func(error)
}

func newDesk(most int) *desk {
	d := &desk{}
	d.Window = handover.New[int](most, func(_ context.Context, _ store.Batch, done func(error)) { d.done = append(d.done, done) })
	d.lane = d.Lane(0)
	return d
}

// hand admits a batch of one change of so many bytes that ends at a position, and hands it over.
func (d *desk) hand(t *testing.T, last, bytes int) {
	t.Helper()
	b := &handover.Batch[int]{Changes: make([]store.Change, 1), Last: last, Bytes: bytes}
	d.lane.Admit(last, b)
	d.Hand(t.Context(), b)
}

func (d *desk) expect(t *testing.T, position int, idle bool, room int) {
	t.Helper()
	if at, is := d.lane.Position(); at != position || is != idle || d.Room() != room {
		t.Errorf("position %d, idle %t, room %d; want %d, %t, %d", at, is, d.Room(), position, idle, room)
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
	d.expect(t, 0, false, 1) // the first is not finished
	d.done[0](nil)
	d.done[0](errors.New("a second end counts for nothing"))
	d.expect(t, 2, false, 2)
	d.lane.Admit(9) // read, and nothing for the feed
	d.done[2](nil)
	d.expect(t, 9, true, 3)
	select {
	case <-d.Moved:
	default:
		t.Error("that the position moved is not told")
	}
}

func TestWindow_Failed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(10)
		other := d.Lane(0)
		later := &handover.Batch[int]{Changes: make([]store.Change, 1), Last: 1}
		other.Admit(1, later)
		d.hand(t, 1, 1)
		d.Keep(later)
		d.done[0](errors.New("not now"))
		d.Drain() // nothing is under way
		d.expect(t, 0, false, 0)
		b, wait, room := d.Next()
		if b != nil || wait != handover.Backoff(1) || room != 0 {
			t.Fatalf("next: %v, %v, %d; want a wait for the first lane's", b, wait, room)
		}
		<-time.After(wait)
		if b, _, _ = d.Next(); b == nil || b == later || !b.Replay {
			t.Fatalf("next: %+v, want what failed, as a replay", b)
		}
		d.Hand(t.Context(), b)
		d.done[1](nil)
		if b, _, _ = d.Next(); b != later {
			t.Fatalf("next: %+v, want what was kept", b)
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
