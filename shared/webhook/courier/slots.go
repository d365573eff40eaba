package courier

import "sync"

// Slots limits the attempts in flight, in total and per company and endpoint, so that one tenant's hanging endpoints cannot
// take the slots of other tenants. It stores only counts of attempts in flight, and is safe for concurrent use.
type Slots struct {
	bounds Bounds

	mu        sync.Mutex
	inFlight  int
	companies map[string]int
	endpoints map[EndpointKey]int
}

// Bounds holds the maximum numbers of attempts in flight, each at least 1.
type Bounds struct{ PerEndpoint, PerCompany, Total int }

// EndpointKey identifies an endpoint across companies.
type EndpointKey struct{ Company, Provider string }

// NewSlots makes slots, all of them free.
func NewSlots(b Bounds) *Slots {
	return &Slots{bounds: b, companies: map[string]int{}, endpoints: map[EndpointKey]int{}}
}

// TryAcquire takes a slot if all three bounds have room. It never waits. The caller returns the slot with Release.
func (s *Slots) TryAcquire(e EndpointKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight >= s.bounds.Total || s.companies[e.Company] >= s.bounds.PerCompany || s.endpoints[e] >= s.bounds.PerEndpoint {
		return false
	}
	s.inFlight++
	s.companies[e.Company]++
	s.endpoints[e]++
	return true
}

// Release returns a slot from TryAcquire.
func (s *Slots) Release(e EndpointKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	release(s.companies, e.Company)
	release(s.endpoints, e)
}

func release[K comparable](counts map[K]int, k K) {
	if counts[k]--; counts[k] <= 0 {
		delete(counts, k)
	}
}
