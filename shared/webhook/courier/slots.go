package courier

import (
	"sync"
	"time"
)

// Slots limits the attempts in flight, in total and per company and endpoint, so that one tenant's hanging endpoints cannot
// take the slots of other tenants. An endpoint's limit is its window, which follows the endpoint's answers. A company may
// hold as many slots as are free, and an endpoint three times as many as its company has left: the dynamic thresholds of
// switches that share a buffer. A company alone gets half of all slots, each of n companies 1/(n+1). The slots that stay
// free are for the next company. Slots keeps only counts, and is safe for concurrent use.
type Slots struct {
	total int
	now   func() time.Time

	mu        sync.Mutex
	inFlight  int
	companies map[string]int
	endpoints map[EndpointKey]*window
	fed       [2]feeding // the companies that made first attempts last
}

// feeding says when a company last asked for a slot for a first attempt.
type feeding struct {
	company string
	at      time.Time
}

// Another company is active for a time after it asked for a slot for a first attempt.
const lately = time.Second

// TotalSlots is the number of slots of a process. An attempt takes about 50 kB: its delivery, its goroutines and its
// connection.
const TotalSlots = 2048

// shareOfLeft sets how many times the slots that its company has left an endpoint may hold.
const shareOfLeft = 3

// EndpointKey identifies an endpoint across companies. An endpoint that is deleted and configured again has another incarnation, and
// so shares neither slots nor health with the former one.
type EndpointKey struct{ Company, Provider, Incarnation string }

// NewSlots makes slots, all of them free.
func NewSlots(total int, now func() time.Time) *Slots {
	return &Slots{total: total, now: now, companies: map[string]int{}, endpoints: map[EndpointKey]*window{}}
}

// TryAcquire takes a slot for an attempt of a path if the endpoint's window, its company's share and the total have room. It
// never waits. The caller returns the slot with Release.
func (s *Slots) TryAcquire(e EndpointKey, p Path) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	w := s.window(e, now)
	if p == Feed {
		s.feeds(e.Company, now)
	}
	share := s.share(e, w)
	if !w.admits(p, min(w.limit, share), now) {
		w.refuse(p, share, now)
		return false
	}
	s.inFlight++
	s.companies[e.Company]++
	w.acquire(p)
	return true
}

// share returns how many slots an endpoint may hold for its company's sake.
func (s *Slots) share(e EndpointKey, w *window) int {
	left := s.total - s.inFlight - s.companies[e.Company]
	return min(shareOfLeft*left, w.inFlight()+left)
}

// Pace returns how long the holder of a slot waits before its attempt. While another company makes first attempts, the attempts of
// a backlog are spread over the time of an answer. Hundreds that begin at once would also end at once, and the other company would
// wait for all of their records.
func (s *Slots) Pace(e EndpointKey) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	w := s.window(e, now)
	for _, f := range s.fed {
		if f.company != e.Company && now.Sub(f.at) < lately {
			return w.pace(now, min(w.limit, s.share(e, w)))
		}
	}
	return 0
}

// feeds notes that a company makes a first attempt.
func (s *Slots) feeds(company string, now time.Time) {
	if s.fed[0].company != company {
		s.fed[1] = s.fed[0]
	}
	s.fed[0] = feeding{company, now}
}

// ComeBack returns when a delivery that found no slot should ask again: after those that found none before it, and after least.
func (s *Slots) ComeBack(e EndpointKey, least time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	w := s.window(e, now)
	return w.line.place(now, pace{slots: min(w.limit, w.share), most: min(w.ceiling, w.share), latency: w.shortest}, least)
}

// Release returns a slot from TryAcquire.
func (s *Slots) Release(e EndpointKey, p Path) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	if s.companies[e.Company]--; s.companies[e.Company] <= 0 {
		delete(s.companies, e.Company)
	}
	s.endpoints[e].release(p, s.now())
}

// record adapts the endpoint's window to the outcome of an attempt that holds a slot.
func (s *Slots) record(e EndpointKey, o Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.endpoints[e]
	switch {
	case w == nil, o.Class == Aborted: // a caller without a slot, or no answer
	case o.Class == Delivered:
		w.accepted(o.Latency, s.now())
	case o.Class == Gone || !o.Healthy():
		w.failed()
	}
}

// window returns an endpoint's window. It makes a new one after a minute without attempts.
func (s *Slots) window(e EndpointKey, now time.Time) *window {
	w := s.endpoints[e]
	if w != nil && (w.inFlight() > 0 || now.Sub(w.used) < windowExpires) {
		w.used = now
		return w
	}
	if len(s.endpoints) >= maxRemembered {
		s.forgetIdle()
	}
	w = newWindow(s.total, now)
	s.endpoints[e] = w
	return w
}

func (s *Slots) forgetIdle() {
	for e, w := range s.endpoints {
		if w.inFlight() == 0 {
			delete(s.endpoints, e)
		}
	}
}
