package courier

import (
	"maps"
	"sync"
	"time"

	"orgops/shared/webhook/endpoint"
	"orgops/shared/webhook/post"
)

// slots limits the attempts in flight, in total and per company and endpoint, so that one tenant's hanging endpoints cannot
// take the slots of other tenants. An endpoint's limit is its window, which follows the endpoint's answers. A company may
// hold as many slots as are free, and an endpoint three times as many as its company has left: the dynamic thresholds of
// switches that share a buffer. A company alone gets half of all slots, each of n companies 1/(n+1). The slots that stay
// free are for the next company.
//
// The Feed's tasks wait for a slot in the lane of their endpoint. The other sources give a task again.
type slots struct {
	total  int
	now    func() time.Time
	work   func(*Task) // takes a task that has got a slot in its lane
	spread bool        // attempts of a backlog are spread: see pace

	mu        sync.Mutex
	inFlight  int
	companies map[string]int
	endpoints map[endpoint.Key]*window
	fed       [2]struct { // the companies that asked last for a slot for a first attempt
		company string
		at      time.Time
	}
	queued int  // tasks waiting
	closed bool // tasks must not wait any more
}

// Another company is active for a time after it asked for a slot for a first attempt.
const lately = time.Second

// TotalSlots is the number of slots of a process. An attempt takes about 50 kB: its delivery, its goroutines and its
// connection.
const TotalSlots = 2048

// shareOfLeft sets how many times the slots that its company has left an endpoint may hold.
const shareOfLeft = 3

func newSlots(total int, now func() time.Time) *slots {
	return &slots{
		total: total, now: now, companies: map[string]int{}, endpoints: map[endpoint.Key]*window{},
	}
}

// take takes a slot for an attempt if the endpoint's window, its company's share and the total have room. It never waits.
func (s *slots) take(e endpoint.Key, from Source) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acquire(e, from)
}

func (s *slots) acquire(e endpoint.Key, from Source) bool {
	now := s.now()
	w := s.window(e, now)
	if from == Feed {
		if s.fed[0].company != e.Company {
			s.fed[1] = s.fed[0]
		}
		s.fed[0].company, s.fed[0].at = e.Company, now
	}
	if from == Backlog && w.unrecorded >= mostUnrecorded {
		return false
	}
	share := s.share(e, w)
	if !w.admits(from, min(w.limit, share), now) {
		w.refuse(from, share, now)
		return false
	}
	s.inFlight++
	s.companies[e.Company]++
	w.acquire(from)
	return true
}

// share returns how many slots an endpoint may hold for its company's sake.
func (s *slots) share(e endpoint.Key, w *window) int {
	left := s.total - s.inFlight - s.companies[e.Company]
	return min(shareOfLeft*left, w.inFlight()+left)
}

// pace returns when the next attempt of a backlog begins. While another company makes first attempts, the attempts of a backlog are
// spread over the time of an answer. Hundreds that begin at once would also end at once, and the other company would wait for all of
// their records. A Lambda, which would pay for the wait, does not wait.
func (s *slots) pace(e endpoint.Key) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	w := s.window(e, now)
	for _, f := range s.fed {
		if s.spread && f.company != e.Company && now.Sub(f.at) < lately {
			return w.pace(now, min(w.limit, s.share(e, w)))
		}
	}
	return now
}

// comeback returns when a delivery that found no slot should ask again: after those that found none before it, and after least.
func (s *slots) comeback(e endpoint.Key, least time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	w := s.window(e, now)
	return w.comeback.place(now, min(w.limit, w.share), min(w.ceiling, w.share), w.shortest, least)
}

// release returns a slot.
func (s *slots) release(e endpoint.Key, from Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free(e, from)
}

func (s *slots) free(e endpoint.Key, from Source) {
	s.inFlight--
	if s.companies[e.Company]--; s.companies[e.Company] <= 0 {
		delete(s.companies, e.Company)
	}
	s.endpoints[e].release(from, s.now())
}

// record adapts the endpoint's window to the result of an attempt that holds a slot.
func (s *slots) record(e endpoint.Key, r post.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.endpoints[e]
	switch {
	case r.Class == post.Delivered:
		w.accepted(r.Latency, s.now())
	case r.Class == post.Gone || !r.Healthy():
		w.failed()
	}
}

// unrecorded counts the attempts of an endpoint's backlog whose records are being written.
func (s *slots) unrecorded(e endpoint.Key, more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window(e, s.now()).unrecorded += more
}

// window returns an endpoint's window. It makes a new one after a minute without attempts.
func (s *slots) window(e endpoint.Key, now time.Time) *window {
	w := s.endpoints[e]
	if w != nil && (w.busy() || now.Sub(w.used) < windowExpires) {
		w.used = now
		return w
	}
	if len(s.endpoints) >= maxRemembered {
		maps.DeleteFunc(s.endpoints, func(_ endpoint.Key, idle *window) bool { return !idle.busy() })
	}
	w = newWindow(s.total, now)
	s.endpoints[e] = w
	return w
}
