package webhook

import "sync"

// Lanes bounds the attempts in flight, altogether and per company and endpoint, so that nobody's hanging endpoints can
// fill the slots. It remembers only what is in flight.
type Lanes struct {
	perEndpoint, perCompany, total int

	mu        sync.Mutex
	inFlight  int
	companies map[string]int
	endpoints map[lane]int
}

type lane struct{ company, endpoint string }

// NewLanes is lanes with their bounds, each 1 or more.
func NewLanes(perEndpoint, perCompany, total int) *Lanes {
	return &Lanes{
		perEndpoint: perEndpoint, perCompany: perCompany, total: total,
		companies: map[string]int{}, endpoints: map[lane]int{},
	}
}

// TryAcquire takes a slot if all three bounds have room, and never waits. Who got one gives it back with Release.
func (l *Lanes) TryAcquire(company, endpoint string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := lane{company, endpoint}
	if l.inFlight >= l.total || l.companies[company] >= l.perCompany || l.endpoints[k] >= l.perEndpoint {
		return false
	}
	l.inFlight++
	l.companies[company]++
	l.endpoints[k]++
	return true
}

// Release gives back a slot that TryAcquire gave.
func (l *Lanes) Release(company, endpoint string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	release(l.companies, company)
	release(l.endpoints, lane{company, endpoint})
}

// InFlight is how many slots are taken.
func (l *Lanes) InFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight
}

func release[K comparable](counts map[K]int, k K) {
	if counts[k]--; counts[k] <= 0 {
		delete(counts, k)
	}
}
