package retrier

import (
	"sync"

	"orgops/shared/domain/delivery"
)

// outcome holds a delivery after an attempt, and the version of the record that it replaces.
type outcome struct {
	version  int64
	delivery delivery.Delivery
}

// maxKept limits the outcomes in memory, of at most 50 kB each. There can be more only if more attempts were in flight when
// the writes began to fail, because a failed write stops the attempts.
const maxKept = 4096

// kept holds the outcomes of attempts that could not be recorded. Their attempts are not made again in this process: the next
// message of the delivery writes the outcome.
type kept struct {
	mu       sync.Mutex
	outcomes map[working]outcome
}

func newKept() *kept { return &kept{outcomes: map[working]outcome{}} }

// put keeps an outcome, unless there are too many.
func (k *kept) put(id working, o outcome) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.outcomes) < maxKept {
		k.outcomes[id] = o
	}
}

// take removes and returns an outcome.
func (k *kept) take(id working) (o outcome, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, ok = k.outcomes[id]
	delete(k.outcomes, id)
	return o, ok
}
