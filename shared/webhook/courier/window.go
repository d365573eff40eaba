package courier

import (
	"runtime"
	"time"
)

// Path names the way that leads to an attempt. The two paths share an endpoint's window.
type Path uint8

// The paths.
const (
	Feed  Path = iota // first attempts
	Queue             // later attempts
	paths
)

const (
	firstWindow   = 16          // slots of an endpoint that has not answered yet
	growth        = 3           // slots that a delivery adds below the ceiling, so that a round makes the window four times as large
	slower        = 2           // an answer that takes this many times the shortest latency adds no slot
	windowExpires = time.Minute // without attempts
	refusalLasts  = 3 * time.Second
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
	paths    [paths]pathUse
	share    int       // of its company, when the window last refused an attempt
	line     line      // of the deliveries that found no slot
	next     time.Time // when the next attempt begins if the attempts are spread out
}

// pathUse counts a path's attempts in flight and its recent refusals.
type pathUse struct {
	inFlight int
	refused  int
	at       time.Time // of the last refusal
}

func newWindow(most int, now time.Time) *window {
	return &window{limit: min(firstWindow, most), ceiling: most, most: most, used: now}
}

func (w *window) inFlight() int { return w.paths[Feed].inFlight + w.paths[Queue].inFlight }

// admits reports whether a path may start another attempt when the endpoint may have limit in flight. A path that was
// refused has up to half of them kept for it, so that neither path starves the other.
func (w *window) admits(p Path, limit int, now time.Time) bool {
	other := &w.paths[1-p]
	kept := 0
	if now.Sub(other.at) < refusalLasts {
		kept = min(other.refused, (limit+1)/2-other.inFlight)
	}
	return w.inFlight()+max(kept, 0) < limit
}

// refuse notes that a path got no slot. If the endpoint's share has room, the window is full.
func (w *window) refuse(p Path, share int, now time.Time) {
	if w.share = share; w.limit < share {
		w.full, w.refusing = now, true
	}
	use := &w.paths[p]
	if now.Sub(use.at) >= refusalLasts {
		use.refused = 0
	}
	use.refused, use.at = use.refused+1, now
}

func (w *window) acquire(p Path) {
	use := &w.paths[p]
	use.inFlight++
	use.refused = max(use.refused-1, 0)
}

// release ends an attempt. The window was full until now if it has refused another one.
func (w *window) release(p Path, now time.Time) {
	w.paths[p].inFlight--
	if w.refusing {
		w.full, w.refusing = now, false
	}
}

// leastStep separates the attempts that pace spreads, even if the endpoint answers at once. An attempt and its record take about a
// millisecond of one core, so that the attempts of one backlog leave nine tenths of the machine to others.
func leastStep() time.Duration { return 10 * time.Millisecond / time.Duration(runtime.GOMAXPROCS(0)) }

// pace returns how long an attempt waits so that slots of them are spread over the latency of an answer.
func (w *window) pace(now time.Time, slots int) time.Duration {
	slots = max(slots, 1)
	step := max(w.shortest/time.Duration(slots), leastStep())
	if w.next.Before(now) {
		w.next = now
	}
	pause := w.next.Sub(now)
	w.next = w.next.Add(step)
	if end := now.Add(time.Duration(slots) * step); w.next.After(end) {
		w.next = end
	}
	return pause
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
