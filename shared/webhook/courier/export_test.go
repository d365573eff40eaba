package courier

import (
	"context"
	"time"

	"orgops/shared/storage/store"
	"orgops/shared/webhook/endpoint"
	"orgops/shared/webhook/post"
)

// NewSlots is exported for tests of slots alone.
var NewSlots = newSlots

type Slots = slots

// Bounds are those of an endpoint, in either home.
type Bounds struct {
	home home
	ctx  context.Context
}

func (c *Courier) Bounds(ctx context.Context, company store.Company) Bounds {
	return Bounds{c.home(company, "webhook", ""), ctx}
}

// Admit asks for a later attempt.
func (b Bounds) Admit(rate, inHand int) (until time.Time, ok bool) {
	return b.home.admit(b.ctx, &Task{Endpoint: &endpoint.Endpoint{Settings: endpoint.Settings{RateLimit: rate}}, free: 1000, budget: post.RetryTimeout, InHand: inHand})
}

func (b Bounds) Done(r post.Result) { b.home.done(b.ctx, r, time.Time{}) }

func (b Bounds) Leave() { b.home.leave(b.ctx) }

func (c *Courier) Renew(ctx context.Context, e *endpoint.Endpoint) (*endpoint.Endpoint, error) {
	return c.current(ctx, &Task{Company: e.Company, Endpoint: e, slot: endpoint.Key{Provider: e.Provider}})
}

// InFlight returns how many slots are taken.
func (c *Courier) InFlight() int {
	c.slots.mu.Lock()
	defer c.slots.mu.Unlock()
	return c.slots.inFlight
}

func (c *Courier) Wrote(company string, err error) { c.records.wrote(company, err) }

func (c *Courier) Writable(company string) bool { return c.records.writable(company) }

func (s *slots) Take(e endpoint.Key, from Source) bool { return s.take(e, from) }

func (s *slots) Release(e endpoint.Key, from Source) { s.release(e, from) }

func (s *slots) Record(e endpoint.Key, r post.Result) { s.record(e, r) }

func (s *slots) Pace(e endpoint.Key) time.Duration { s.spread = true; return s.pace(e).Sub(s.now()) }

func (s *slots) ComeBack(e endpoint.Key, least time.Duration) time.Time { return s.comeback(e, least) }
