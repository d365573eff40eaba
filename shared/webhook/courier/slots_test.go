package courier_test

import (
	"net/http"
	"runtime"
	"testing"
	"time"

	"orgops/shared/testkit/clocktest"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/endpoint"
	"orgops/shared/webhook/post"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// pool wraps slots for a test.
type pool struct {
	*courier.Slots
	t     *testing.T
	clock *clocktest.Clock
}

func newPool(t *testing.T, total int) *pool {
	t.Helper()
	clock := clocktest.At(start)
	return &pool{Slots: courier.NewSlots(total, clock.Now), t: t, clock: clock}
}

func key(company, provider string) endpoint.Key {
	return endpoint.Key{Company: company, Provider: provider}
}

// fill takes slots until one is refused.
func (p *pool) fill(e endpoint.Key, path courier.Source) (n int) {
	for p.Take(e, path) {
		n++
	}
	return n
}

// wantFill checks how many slots an endpoint gets.
func (p *pool) wantFill(e endpoint.Key, want int) {
	p.t.Helper()
	if got := p.fill(e, courier.Feed); got != want {
		p.t.Errorf("%v gets %d slots, want %d", e, got, want)
	}
}

// end records n equal outcomes and then releases their slots, as attempts that end together.
func (p *pool) end(e endpoint.Key, n int, o post.Result) {
	for range n {
		p.Record(e, o)
	}
	p.release(e, courier.Feed, n)
}

func (p *pool) release(e endpoint.Key, path courier.Source, n int) {
	for range n {
		p.Release(e, path)
	}
}

func answer(latency time.Duration) post.Result {
	return post.Result{Class: post.Delivered, Status: http.StatusNoContent, Latency: latency}
}

// TestSlots_Grow multiplies the slots of an endpoint by four with each round of answers, up to its share.
func TestSlots_Grow(t *testing.T) {
	t.Parallel()
	p, e := newPool(t, 2048), key("a", "webhook")
	for _, want := range []int{16, 64, 256, 878, 878} {
		p.wantFill(e, want)
		p.end(e, want, answer(2*time.Second))
	}
}

// TestSlots_Grow_OneSender grows as fast for a sender that is refused once and tries again when an attempt has ended: the window is
// full until then, even if that takes longer than the answer.
func TestSlots_Grow_OneSender(t *testing.T) {
	t.Parallel()
	p, e := newPool(t, 2048), key("a", "webhook")
	for _, want := range []int{16, 64, 256} {
		p.wantFill(e, want)
		p.clock.Advance(2*time.Second + 10*time.Millisecond)
		p.end(e, want, answer(2*time.Second))
	}
}

// TestSlots_Hanging keeps an endpoint without answers at its first slots.
func TestSlots_Hanging(t *testing.T) {
	t.Parallel()
	p, e := newPool(t, 2048), key("a", "webhook")
	p.wantFill(e, 16)
	p.clock.Advance(time.Hour)
	p.wantFill(e, 0)
	p.end(e, 16, post.Result{})
	p.wantFill(e, 1)
}

// TestSlots_Overload shrinks to the number of attempts that the endpoint answers, and then grows by one a round.
func TestSlots_Overload(t *testing.T) {
	t.Parallel()
	p, e := newPool(t, 2048), key("a", "webhook")
	p.wantFill(e, 16)
	p.end(e, 16, answer(time.Second))
	p.wantFill(e, 64)
	p.end(e, 24, post.Result{})
	p.end(e, 40, post.Result{Class: post.Failed, Status: http.StatusBadRequest, Latency: 3 * time.Second}) // answered, but late
	for _, want := range []int{40, 41, 42} {
		p.wantFill(e, want)
		p.end(e, want, answer(time.Second))
	}
}

// TestSlots_Recovered grows fast again to the first slots after an outage.
func TestSlots_Recovered(t *testing.T) {
	t.Parallel()
	p, e := newPool(t, 2048), key("a", "webhook")
	p.wantFill(e, 16)
	p.end(e, 16, post.Result{Class: post.Failed, Status: http.StatusServiceUnavailable})
	for _, want := range []int{1, 4, 16, 17} {
		p.wantFill(e, want)
		p.end(e, want, answer(time.Second))
	}
}

// TestSlots_Gone shrinks the window of an endpoint that accepts no more deliveries, and leaves it alone after other refusals.
func TestSlots_Gone(t *testing.T) {
	t.Parallel()
	for class, want := range map[post.Class]int{post.Gone: 1, post.Failed: 16} {
		p, e := newPool(t, 2048), key("a", "webhook")
		p.wantFill(e, 16)
		p.end(e, 16, post.Result{Class: class, Status: http.StatusGone})
		p.wantFill(e, want)
	}
}

// TestSlots_Late adds no slot for answers that took twice the shortest latency.
func TestSlots_Late(t *testing.T) {
	t.Parallel()
	p, e := newPool(t, 2048), key("a", "webhook")
	p.wantFill(e, 16)
	p.end(e, 1, answer(100*time.Millisecond))
	p.end(e, 15, answer(201*time.Millisecond))
	p.wantFill(e, 19)
}

// TestSlots_Unused adds no slot while no attempt waits for one.
func TestSlots_Unused(t *testing.T) {
	t.Parallel()
	p, e := newPool(t, 2048), key("a", "webhook")
	for range 100 {
		for range 16 {
			if !p.Take(e, courier.Feed) {
				t.Fatal("an endpoint with free slots gets none")
			}
		}
		p.end(e, 16, answer(time.Second))
	}
	p.wantFill(e, 16)
}

// TestSlots_Idle forgets an endpoint's window after a minute without attempts, but not while an attempt is in flight.
func TestSlots_Idle(t *testing.T) {
	t.Parallel()
	p, e := newPool(t, 2048), key("a", "webhook")
	p.wantFill(e, 16)
	p.end(e, 15, answer(time.Second))
	p.clock.Advance(2 * time.Minute)
	p.wantFill(e, 60)
	p.release(e, courier.Feed, 61)
	p.clock.Advance(2 * time.Minute)
	p.wantFill(e, 16)
}

// TestSlots_Shares gives each of n companies with much to send 1/(n+1) of the slots, and one endpoint less than all of its
// company's.
func TestSlots_Shares(t *testing.T) {
	t.Parallel()
	p := newPool(t, 30)
	grown := func(e endpoint.Key) {
		n := p.fill(e, courier.Feed)
		p.end(e, n, answer(time.Second))
	}
	for _, company := range []string{"a", "b", "c"} {
		grown(key(company, "x"))
		grown(key(company, "y"))
	}
	p.wantFill(key("a", "x"), 13) // 3/7
	p.wantFill(key("a", "y"), 2)  // with the first, a half
	p.wantFill(key("b", "x"), 7)  // half of the rest
	p.wantFill(key("c", "x"), 4)
	p.release(key("a", "x"), courier.Feed, 13)
	p.wantFill(key("a", "y"), 7) // a, b and c leave free slots for the next company
	p.wantFill(key("d", "x"), 5)
}

// TestSlots_Paths lets the feed and the queue share the slots of an endpoint to which both have much to send.
func TestSlots_Paths(t *testing.T) {
	t.Parallel()
	p, e := newPool(t, 2048), key("a", "webhook")
	p.wantFill(e, 16)
	for range 20 {
		if p.Take(e, courier.Queue) {
			t.Fatal("the queue gets a slot while the feed has all")
		}
	}
	for range 16 { // each slot that the feed gives back is kept for the queue, until the queue has half
		p.release(e, courier.Feed, 1)
		p.fill(e, courier.Feed)
	}
	if got, want := p.fill(e, courier.Queue), 8; got != want {
		t.Errorf("the queue gets %d slots, want %d", got, want)
	}
	p.release(e, courier.Queue, 8)
	p.clock.Advance(4 * time.Second) // the queue has stopped asking
	p.wantFill(e, 8)
}

// TestSlots_Pace checks that attempts which get their slots at the same moment begin one after the other, over the time of an
// answer, and at once if they come slowly.
func TestSlots_Pace(t *testing.T) {
	t.Parallel()
	p, e, other := newPool(t, 2048), key("a", "webhook"), key("b", "webhook")
	p.fill(e, courier.Queue)
	p.Record(e, answer(1900*time.Millisecond)) // makes room for 19 slots
	p.Take(other, courier.Feed)
	for i, want := range []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond} {
		if got := p.Pace(e); got != want {
			t.Errorf("attempt %d waits %v, want %v", i, got, want)
		}
	}
	p.clock.Advance(900 * time.Millisecond)
	if got := p.Pace(e); got != 0 {
		t.Errorf("an attempt almost a second later waits %v, want 0", got)
	}
	for range 100 {
		p.Pace(e)
	}
	if got := p.Pace(e); got > 1900*time.Millisecond {
		t.Errorf("an attempt waits %v, want at most the time of an answer", got)
	}
}

// TestSlots_Pace_Others spreads attempts only while another company makes first attempts, also to an endpoint that answers at once.
func TestSlots_Pace_Others(t *testing.T) {
	t.Parallel()
	p, e, other := newPool(t, 2048), key("a", "webhook"), key("b", "webhook")
	p.fill(e, courier.Queue)
	wantThird := func(want time.Duration) {
		t.Helper()
		p.Pace(e)
		p.Pace(e)
		if got := p.Pace(e); got != want {
			t.Errorf("the third attempt waits %v, want %v", got, want)
		}
		p.clock.Advance(100 * time.Millisecond)
	}
	wantThird(0)
	p.Take(e, courier.Feed)
	wantThird(0)
	p.Take(other, courier.Feed)
	p.Take(e, courier.Feed)
	wantThird(20 * time.Millisecond / time.Duration(runtime.GOMAXPROCS(0)))
	p.clock.Advance(time.Second)
	wantThird(0)
}
