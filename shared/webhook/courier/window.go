package courier

import (
	"cmp"
	"runtime"
	"time"

	"orgops/shared/base/wait"
)

const (
	firstWindow   = 16          // slots of an endpoint that has not answered yet
	growth        = 3           // slots that a delivery adds below the ceiling, so that a round makes the window four times as large
	slower        = 2           // an answer that takes this many times the shortest latency adds no slot
	windowExpires = time.Minute // without attempts
	refusalLasts  = 3 * time.Second

	// An endpoint may answer faster than the store writes. No attempt of a backlog begins while this many records of others are being
	// written: each takes memory, and a crash would repeat its attempt.
	mostUnrecorded = 64
)

// window limits the attempts in flight to one endpoint. It grows as TCP's congestion window does: with each accepted
// delivery below a ceiling, then by one slot a round. A failure sets the ceiling. Each failure takes one slot, down to one, so
// that the window shrinks to the number of attempts that the endpoint answers. An endpoint that accepts nothing never has
// more than firstWindow slots.
//
// Answers that take longer than the shortest one show that the endpoint makes attempts wait. More attempts would only time
// out, so such an answer adds no slot.
type window struct {
	limit    int
	ceiling  int // below it, the window grows fast
	most     int
	credit   int           // deliveries since the limit last grew above the ceiling
	shortest time.Duration // latency of a delivery; 0: none yet
	full     time.Time     // when the window was last full, and an attempt waited
	refusing bool          // the window has refused an attempt, and no attempt has ended since
	used     time.Time     // when a slot was last asked for
	first    use           // by first attempts
	later    use           // by later attempts: those of the Queue and of a Backlog
	share    int           // of its company, when the window last refused an attempt
	comeback comeback      // of the deliveries that found no slot
	next     time.Time     // when the next attempt begins if the attempts are spread out

	unrecorded int     // attempts of a backlog whose records are being written
	lane       []*Task // the Feed's that wait for a slot, the oldest first
	size       int     // bytes of their payloads
}

// use counts the attempts in flight, and the recent refusals, of the first or of the later attempts.
type use struct {
	inFlight int
	refused  int
	at       time.Time // of the last refusal
}

func newWindow(most int, now time.Time) *window {
	return &window{limit: min(firstWindow, most), ceiling: most, most: most, used: now}
}

func (w *window) inFlight() int { return w.first.inFlight + w.later.inFlight }

func (w *window) busy() bool { return w.inFlight() > 0 || w.unrecorded > 0 || len(w.lane) > 0 }

// of returns the use by the attempts of a source, and that by the others.
func (w *window) of(from Source) (own, other *use) {
	if from == Feed {
		return &w.first, &w.later
	}
	return &w.later, &w.first
}

// admits reports whether a source may start another attempt when the endpoint may have limit in flight. First or later attempts that
// were refused have up to half of them kept, so that neither starve the others.
func (w *window) admits(from Source, limit int, now time.Time) bool {
	_, other := w.of(from)
	kept := 0
	if now.Sub(other.at) < refusalLasts {
		kept = min(other.refused, (limit+1)/2-other.inFlight)
	}
	return w.inFlight()+max(kept, 0) < limit
}

// refuse notes that a source got no slot. If the endpoint's share has room, the window is full.
func (w *window) refuse(from Source, share int, now time.Time) {
	if w.share = share; w.limit < share {
		w.full, w.refusing = now, true
	}
	use, _ := w.of(from)
	if now.Sub(use.at) >= refusalLasts {
		use.refused = 0
	}
	use.refused, use.at = use.refused+1, now
}

func (w *window) acquire(from Source) {
	use, _ := w.of(from)
	use.inFlight++
	use.refused = max(use.refused-1, 0)
}

// release ends an attempt. The window was full until now if it has refused another one.
func (w *window) release(from Source, now time.Time) {
	own, _ := w.of(from)
	own.inFlight--
	if w.refusing {
		w.full, w.refusing = now, false
	}
}

// leastStep separates the attempts that pace spreads, even if the endpoint answers at once. An attempt and its record take about a
// millisecond of one core, so that the attempts of one backlog leave nine tenths of the machine to others.
func leastStep() time.Duration { return 10 * time.Millisecond / time.Duration(runtime.GOMAXPROCS(0)) }

// pace returns when an attempt begins so that slots of them are spread over the latency of an answer.
func (w *window) pace(now time.Time, slots int) time.Time {
	slots = max(slots, 1)
	step := max(w.shortest/time.Duration(slots), leastStep())
	begins := wait.Later(w.next, now)
	w.next = begins.Add(step)
	if end := now.Add(time.Duration(slots) * step); w.next.After(end) {
		w.next = end
	}
	return begins
}

// accepted notes a delivery. The window grows only if it was full during the attempt.
func (w *window) accepted(latency time.Duration, now time.Time) {
	if w.shortest == 0 || latency < w.shortest {
		w.shortest = latency
	}
	if latency > slower*w.shortest || !w.refusing && now.Sub(w.full) > latency {
		return
	}
	if w.limit < w.ceiling {
		w.limit = min(w.limit+growth, w.ceiling)
		return
	}
	if w.credit++; w.credit >= w.limit {
		w.limit, w.credit = min(w.limit+1, w.most), 0
	}
}

// failed notes an attempt without an answer, or with an answer that shows a problem of the endpoint.
func (w *window) failed() {
	w.limit = max(w.limit-1, 1)
	w.ceiling = max(w.limit, firstWindow)
}

const (
	guessed = time.Second // latency of an endpoint that has not answered yet
	hopeful = 2           // a delivery comes back in this part of the estimated time, so that no slot stays free
	longest = time.Minute // until a delivery comes back
)

// comeback spreads the deliveries that found no slot over the time in which the endpoint serves those before them. So a backlog of
// any size asks for few more attempts than the endpoint has slots for. A delivery that comes back too early gets another
// time.
type comeback struct {
	last time.Time // given to the last delivery
}

// place returns when the next delivery comes back: after those before it, and after least. The endpoint has slots, which grow fourfold in
// each round of answers up to most; latency is that of an answer, 0 if it is not known.
func (c *comeback) place(now time.Time, slots, most int, latency, least time.Duration) time.Time {
	c.last = wait.Later(c.last, now)
	latency, slots = cmp.Or(latency, guessed), max(slots, 1)
	for left := c.last.Sub(now); left >= latency && slots < most; left -= latency {
		slots = min((growth+1)*slots, most)
	}
	c.last = c.last.Add(latency / time.Duration(hopeful*slots))
	if end := now.Add(longest); c.last.After(end) {
		c.last = end
		return end.Add(-5 * least) // least is random, so these do not all come back at once
	}
	return wait.Later(c.last, now.Add(least))
}
