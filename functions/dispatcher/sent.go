package dispatcher

import (
	"sync"

	"orgops/shared/storage/store"
)

// sent remembers the changes whose messages this process has sent. A change is redelivered together with a failed one before
// it. Its message must not be sent again, because two messages of a delivery could make its attempt twice.
type sent struct {
	mu    sync.Mutex
	known map[changeID]bool
}

type changeID struct {
	company  string
	sequence store.Sequence
}

func idOf(c store.Change) changeID { return changeID{c.Company, c.Sequence} }

// maxSent limits the changes that sent remembers, of about 200 bytes each. At the limit, sent forgets them all.
const maxSent = 10_000

func newSent() *sent { return &sent{known: map[changeID]bool{}} }

func (s *sent) has(c store.Change) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[idOf(c)]
}

func (s *sent) add(changes ...changeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known)+len(changes) > maxSent {
		clear(s.known)
	}
	for _, id := range changes {
		s.known[id] = true
	}
}
