package ticker

import (
	"context"
	"sync"
	"time"

	"orgops/shared/base/wait"
)

// rate limits the timers of a shard that fire in a second. Each takes two write units of the 1,000 that a partition of DynamoDB bears.
const rate = 400

// pace keeps a shard within the rate.
type pace struct {
	mu   sync.Mutex
	next time.Time
}

// wait waits for the turn of the next timer. It returns false if ctx ends before.
func (p *pace) wait(ctx context.Context) bool {
	p.mu.Lock()
	turn := wait.Later(p.next, time.Now())
	p.next = turn.Add(time.Second / rate)
	p.mu.Unlock()
	return wait.For(ctx, time.Until(turn))
}
