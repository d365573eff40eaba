package inbound

import (
	"sync"

	"orgops/shared/provider/intake"
)

// Bounds of what a process knows about streaks.
const (
	longStreak = 3    // deliveries, from which on the next one is presumed to make new items too
	maxStreaks = 4096 // integrations; beyond it, streaks forgets them all
)

// streaks counts how many deliveries of an integration in a row have made only new items. To look for an item that is almost
// never there takes 5 % of a delivery that comes after a pause.
type streaks struct {
	mu      sync.Mutex
	lengths map[string]int // by company and provider
}

func (s *streaks) long(integration string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lengths[integration] >= longStreak
}

// note counts a delivery. Actions that the policies refuse or hold back do not count.
func (s *streaks) note(integration string, planned []intake.Planned) {
	found := map[intake.Outcome]bool{}
	for _, p := range planned {
		found[p.Outcome] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case found[intake.Updated], found[intake.Unchanged]:
		delete(s.lengths, integration)
	case found[intake.Created]:
		if len(s.lengths) >= maxStreaks {
			clear(s.lengths)
		}
		s.lengths[integration] = min(s.lengths[integration]+1, longStreak)
	}
}
