package courier

import "time"

const (
	guessed = time.Second // latency of an endpoint that has not answered yet
	hopeful = 2           // a delivery comes back in this part of the estimated time, so that no slot stays free
	longest = time.Minute // until a delivery comes back
)

// comeback spreads the deliveries that found no slot over the time in which the endpoint serves those before them. So a backlog of
// any size asks for few more attempts than the endpoint has slots for. A delivery that comes back too early gets another
// time.
type comeback struct {
	last time.Time // given to the last delivery
}

// supply says how fast an endpoint's deliveries get slots.
type supply struct {
	slots   int           // now
	most    int           // to which slots grow fourfold in each round of answers
	latency time.Duration // of an answer; 0: not known
}

// step returns the time between two deliveries that get a slot after a wait.
func (s supply) step(wait time.Duration) time.Duration {
	latency := s.latency
	if latency == 0 {
		latency = guessed
	}
	slots := max(s.slots, 1)
	for ; wait >= latency && slots < s.most; wait -= latency {
		slots = min((growth+1)*slots, s.most)
	}
	return latency / time.Duration(hopeful*slots)
}

// place returns when the next delivery comes back: after those before it, and after least.
func (c *comeback) place(now time.Time, s supply, least time.Duration) time.Time {
	if c.last.Before(now) {
		c.last = now
	}
	c.last = c.last.Add(s.step(c.last.Sub(now)))
	if end := now.Add(longest); c.last.After(end) {
		c.last = end
		return end.Add(-5 * least) // least is random, so these do not all come back at once
	}
	if earliest := now.Add(least); earliest.After(c.last) {
		return earliest
	}
	return c.last
}
