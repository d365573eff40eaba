package usagekey

import (
	"sync"
	"time"
)

// most limits the companies that a process counts. Beyond it the process forgets all counts, which gives each company a new burst.
const most = 10_000

// Buckets count the requests of companies whose plan has no key, within one process. Each process counts for itself, so several
// processes admit several times the plan's limits.
type Buckets struct {
	now func() time.Time

	mu        sync.Mutex
	companies map[string]*bucket
}

// bucket counts the requests of one company.
type bucket struct {
	left float64   // requests that it may make at once
	at   time.Time // of left
	day  time.Time
	used int // requests of the day
}

// NewBuckets returns buckets without requests. now gives the time.
func NewBuckets(now func() time.Time) *Buckets {
	return &Buckets{now: now, companies: map[string]*bucket{}}
}

// Take counts a request of a company on a plan, as TakeAny does. It counts nothing if the gateway counts the requests of the plan.
func (b *Buckets) Take(company, plan string) (limit string, wait time.Duration) {
	if NeedsKey(plan) {
		return "", 0
	}
	return b.TakeAny(company, plan)
}

// TakeAny counts a request of a company on any plan, at a route whose requests the gateway does not count. It returns 0 if the
// request is within the plan's limits. Otherwise it counts nothing, and returns which limit refuses the request, as the gateway's
// answers name it, and how long the company is to wait.
func (b *Buckets) TakeAny(company, plan string) (limit string, wait time.Duration) {
	tier, ok := Tiers()[plan]
	if !ok {
		return "", 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now().UTC()
	c := b.companies[company]
	if c == nil {
		if len(b.companies) >= most {
			clear(b.companies)
		}
		c = &bucket{left: float64(tier.Burst), at: now}
		b.companies[company] = c
	}
	c.left = min(float64(tier.Burst), c.left+max(now.Sub(c.at).Seconds(), 0)*float64(tier.Rate))
	c.at = now
	if day := now.Truncate(24 * time.Hour); !day.Equal(c.day) {
		c.day, c.used = day, 0
	}
	switch {
	case c.used >= tier.Day:
		return "day", time.Hour
	case c.left < 1:
		return "second", time.Second
	}
	c.left--
	c.used++
	return "", 0
}
