package usagekey

import (
	"sync"
	"time"
)

// most limits the companies and agents that a process counts. Beyond it the process forgets all counts, which gives each a new burst.
const most = 10_000

// Buckets count the requests of companies whose plan has no key, and of agents, within one process. Each process counts for itself, so
// several processes admit several times the limits.
type Buckets struct {
	now func() time.Time

	mu      sync.Mutex
	buckets map[string]*bucket // by the company, or by the company and the agent
}

// bucket counts the requests of one company or agent.
type bucket struct {
	left float64   // requests that it may make at once
	at   time.Time // of left
	day  time.Time
	used int // requests of the day
}

// NewBuckets returns buckets without requests. now gives the time.
func NewBuckets(now func() time.Time) *Buckets {
	return &Buckets{now: now, buckets: map[string]*bucket{}}
}

// Take counts a request of a company on a plan, as TakeAny does. If the gateway counts the requests of the plan, Take counts those of
// agents alone.
func (b *Buckets) Take(company, plan, agent string) (limit string, wait time.Duration) {
	return b.take(company, plan, agent, !NeedsKey(plan))
}

// TakeAny counts a request of a company on any plan, at a route whose requests the gateway does not count. agent names the agent that
// sends it; "": a person does. It returns 0 if the request is within the limits of the agent and of the plan. Otherwise it counts
// nothing, and returns which limit refuses the request, as the gateway's answers name it, and how long the caller is to wait.
func (b *Buckets) TakeAny(company, plan, agent string) (limit string, wait time.Duration) {
	return b.take(company, plan, agent, true)
}

func (b *Buckets) take(company, plan, agent string, counts bool) (limit string, wait time.Duration) {
	tier, ok := Tiers()[plan]
	if !ok || !counts && agent == "" {
		return "", 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now().UTC()
	var own, all *bucket
	if agent != "" {
		own = b.bucket(company+"/"+agent, tier.Agent(), now)
		if limit, wait := own.full(tier.Agent(), now); wait > 0 {
			return agents + limit, wait
		}
	}
	if counts {
		all = b.bucket(company, tier, now)
		if limit, wait := all.full(tier, now); wait > 0 {
			return limit, wait
		}
	}
	for _, c := range []*bucket{own, all} {
		if c != nil {
			c.left--
			c.used++
		}
	}
	return "", 0
}

// bucket returns the bucket of a name at a time.
func (b *Buckets) bucket(name string, tier Tier, now time.Time) *bucket {
	c := b.buckets[name]
	if c == nil {
		if len(b.buckets) >= most {
			clear(b.buckets)
		}
		c = &bucket{left: float64(tier.Burst), at: now}
		b.buckets[name] = c
	}
	c.left = min(float64(tier.Burst), c.left+max(now.Sub(c.at).Seconds(), 0)*float64(tier.Rate))
	c.at = now
	if day := now.Truncate(24 * time.Hour); !day.Equal(c.day) {
		c.day, c.used = day, 0
	}
	return c
}

// full returns which limit refuses one more request, and how long to wait; 0 if none does.
func (c *bucket) full(tier Tier, now time.Time) (limit string, wait time.Duration) {
	switch {
	case c.used >= tier.Day:
		return day, c.day.Add(24 * time.Hour).Sub(now)
	case c.left < 1:
		return second, time.Second
	}
	return "", 0
}
