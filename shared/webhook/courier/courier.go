// Package courier is the engine that makes the attempts of deliveries, from the slot to the stored record. Three sources give it tasks
// and take outcomes: the Feed gives first attempts, the Queue gives later ones, and a Backlog, which is a recovery, gives attempts with
// which a schedule begins again. Everything between is the engine's: an attempt needs a slot, the permission of its endpoint's state, and
// that of the endpoint's bounds, which are a rate, a breaker and, among processes, slots.
//
// A task goes through these phases (see advance):
//
//	phase      what has happened, and what may follow                                    step     next phase
//	given      nothing is read. Its delivery may be in progress (a Feed's task waits     place    placed, waiting, answered, ended
//	           for that one, another comes back), or its last attempt unrecorded
//	           (that is recorded, and no attempt made); or it gets a slot, or none
//	waiting    a Feed's task without a slot is in its endpoint's lane. A slot comes, or  –        placed, answered
//	           after 10 s it is recorded as due later
//	placed     it has a slot. The endpoint and its bounds are asked; they refuse, or     ask      allowed, answered, ended
//	           allow an attempt, or say that the delivery must be held
//	allowed    an attempt may begin. A Queue's delivery is read, and perhaps claimed:    fetch    ready, ended
//	           it may have no use for the attempt any more
//	ready      the delivery is held, or its attempt begins unless it is too late for it  send     answered, ended
//	sending    the request is under way. If the process dies from here on, before the    –        answered
//	           record is stored, the attempt may be made again
//	answered   the delivery has its new state in memory. The slot is given back, and     record   recording, ended
//	           the record is written
//	recording  a Feed's record is with the writer, which stores many at once             –        ended
//	ended      the outcome is complete, and the task holds nothing
//
// A process that sends alone keeps what is used of the bounds in memory, and may lose it without harm. Processes that send to the same
// endpoints share it in an item for each endpoint, from which each takes its part.
package courier

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/post"
)

// Courier is the engine that makes the attempts of all companies' deliveries. Make one with New. It is safe for concurrent use.
type Courier struct {
	Deps
	slots   *slots
	reader  integration.Reader
	known   *cache
	records *records
	writer  *writer
	order   *order
}

// Deps holds the parts that a Courier works with.
type Deps struct {
	Store  store.Store
	Vault  integration.Vault
	Client *outbound.Client
	Engine policy.Engine // decides whether an endpoint is disabled; a courier that only sends samples needs none
	Logger *slog.Logger
	Now    func() time.Time
	// Fresh limits how long endpoints are cached without a Forget; 0 disables the cache. A process that consumes the feed
	// may set it, because it sees every change. A Lambda leaves it 0.
	Fresh time.Duration
	// Shared reports that other processes send to the same endpoints, so that the limits must hold across all of them.
	Shared  bool
	Metrics *metric.Recorder // nil: no metrics
	// Separate writes the record of each first attempt in its own transaction. It suits a store that charges twice for writes in a
	// transaction. A store that syncs each commit to disk should batch them.
	Separate bool
	First    time.Duration // that a first attempt may take; 0: post.FirstTimeout
	// Random returns a number of [0, 1) for the jitter of waits. Nil: that of math/rand/v2.
	Random func() float64
}

// New makes a courier with an empty cache.
func New(d Deps) *Courier {
	if d.Random == nil {
		d.Random = rand.Float64
	}
	if d.First == 0 {
		d.First = post.FirstTimeout
	}
	c := &Courier{Deps: d, slots: newSlots(TotalSlots, d.Now), records: newRecords(), writer: newWriter(d)}
	c.slots.work, c.slots.spread = c.work, !d.Shared
	c.writer.wrote, c.writer.done = c.records.wrote, c.stored
	c.order = newOrder(c.join, func(t *Task, err error) { t.Done(Outcome{Err: err}) })
	c.known = newCache(d.Fresh, c.homes())
	return c
}

// homes returns the function that builds the home of an endpoint's bounds.
func (c *Courier) homes() func(c store.Company, provider, incarnation string) home {
	if !c.Shared {
		return func(store.Company, string, string) home { return &memory{vitals: vitals{now: c.Now, random: c.Random}} }
	}
	process := fmt.Sprintf("%08x", uint32(c.Random()*(1<<32)))
	return func(company store.Company, provider, incarnation string) home {
		return &lease{
			vitals: vitals{now: c.Now, random: c.Random}, company: company, provider: provider, key: integration.BoundsKey(provider, incarnation),
			process: process, logger: c.Logger, lock: make(chan struct{}, 1),
		}
	}
}

func spillDelay(random func() float64) time.Duration {
	return time.Second + time.Duration(random()*float64(2*time.Second))
}
