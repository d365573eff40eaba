package courier

import (
	"maps"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/webhook/breaker"
)

// Limits of the attempts in flight to one endpoint, over all processes. A process makes its first attempts without a lease,
// so an endpoint that is not busy costs no write. The dispatcher makes up to 16 so, because its function handles 16 changes
// at a time; ten of it work on a shard. The retrier makes one so; at most 100 of it run. All others are leased. So at most
// 10 × 16 + 100 × 1 + 240 = 500 attempts are in flight to an endpoint.
const (
	freeFirst   = 16 // first attempts of a process without a lease
	freeRetries = 1
	maxLeased   = 240
	leasedMore  = 3 // slots that a lease adds to those needed, at least, so that it need not be renewed soon
	leasedPart  = 2 // a lease adds this part of those needed, if that is more
)

// Times of a lease.
const (
	slotsLeased = time.Minute     // longer than an attempt, so that several attempts use a lease one after another
	slotsMargin = 5 * time.Second // for the clocks of processes: a leased attempt ends this long before its lease
	leadTime    = time.Second     // how far ahead tokens are leased
	late        = 100 * time.Millisecond
	boundsKept  = time.Hour // after the last change, and after the end of a wait
)

// bounds holds what is used of an endpoint's rate, breaker and leased slots, and until when a recovery occupies it. It has one of two
// homes: the memory of a process that sends alone, or an item that processes share, from which each takes its part.
type bounds struct {
	Circuit  breaker.Circuit   `json:"circuit"`
	Due      time.Time         `json:"due,omitzero"` // when the next attempt is due at even spacing
	Slots    map[string]leased `json:"slots,omitempty"`
	Occupied time.Time         `json:"occupied,omitzero"` // until when a recovery has the endpoint to itself
}

// kept returns until when the bounds are kept: they last longer than a wait that the endpoint asked for.
func (b bounds) kept(now time.Time) time.Time {
	return wait.Later(b.Circuit.HeldUntil, now).Add(boundsKept)
}

// leased holds the slots that a process may use until a time.
type leased struct {
	Slots int       `json:"slots"`
	Until time.Time `json:"until"`
}

// need says what an attempt needs of the bounds, in a process.
type need struct {
	now     time.Time
	process string
	ends    time.Time     // when the attempt has ended at the latest
	slots   int           // leased slots that the process needs; 0: the free ones suffice
	more    int           // slots that are taken with those, if they are free
	rate    int           // attempts a second; 0: no limit
	lead    time.Duration // how far ahead tokens are taken
	tokens  int           // wanted, for all attempts that wait in the process; 0: the process has one
}

// take takes what an attempt needs, and the tokens' times: see timely. If ok is false, until tells when to ask again, and the caller drops
// the bounds. changed is true if it must store them before the attempt.
func (b *bounds) take(n need) (times []time.Time, until time.Time, changed, ok bool) {
	ok, changed, until = b.Circuit.Allow(n.now)
	if own := b.Slots[n.process]; ok && n.slots > 0 && (own.Slots < n.slots || own.Until.Before(n.ends.Add(slotsMargin))) {
		until, changed, ok = n.now, true, b.lease(n)
	}
	if ok && n.rate > 0 && n.tokens > 0 {
		times = b.reserve(n)
		until, changed, ok = b.Due.Add(-n.lead), true, len(times) > 0
	}
	return times, until, changed, ok
}

// lease gives the process as many slots as it needs, and a few more if they are free. It drops leases that have expired.
func (b *bounds) lease(n need) bool {
	slots := make(map[string]leased, len(b.Slots)+1) // b's caller keeps the old map
	free := maxLeased
	for process, one := range b.Slots {
		if process != n.process && n.now.Before(one.Until) {
			slots[process] = one
			free -= one.Slots
		}
	}
	if free < n.slots {
		return false
	}
	slots[n.process] = leased{Slots: min(n.slots+max(leasedMore, n.slots/leasedPart, n.more), free), Until: n.now.Add(slotsLeased)}
	b.Slots = slots
	return true
}

// yield gives the slots of a process back.
func (b *bounds) yield(process string) {
	b.Slots = maps.Clone(b.Slots)
	delete(b.Slots, process)
}

// unprobe ends a probe. It returns false without one.
func unprobe(b *bounds, _ time.Time, _ string) bool {
	probing := !b.Circuit.ProbeUntil.IsZero()
	b.Circuit.ProbeUntil = time.Time{}
	return probing
}

// reserve takes the next tokens with the generic cell rate algorithm (ATM's GCRA): it spaces attempts evenly, and takes at most the
// tokens of the time ahead. Each token has its own time, which no other attempt gets.
func (b *bounds) reserve(n need) (times []time.Time) {
	next := wait.Later(b.Due, n.now)
	for len(times) < n.tokens && !next.After(n.now.Add(n.lead)) {
		times = append(times, next)
		next = next.Add(interval(n.rate))
	}
	if len(times) > 0 {
		b.Due = next
	}
	return times
}

// timely returns the time from which a token may be used, and the time after which it may not. Attempts may begin a twentieth
// of a second before their time, as a burst, and a tenth of a second after it. So a second sees at most 1.15 × rate of them;
// the rest up to 1.2 × is for the network.
func timely(token time.Time, rate int) (from, to time.Time) {
	return token.Add(-burst(rate) / 2), token.Add(late)
}

func interval(perSecond int) time.Duration { return time.Second / time.Duration(perSecond) }

// burst returns how long before its time an attempt may begin, so that a tenth of a second's attempts may begin at once.
func burst(perSecond int) time.Duration {
	return interval(perSecond) * time.Duration(max(perSecond/10, 1)-1)
}
