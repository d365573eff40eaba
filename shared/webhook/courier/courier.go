// Package courier is the engine that makes the attempts of deliveries, from the slot to the stored record. It delivers at least once,
// and loses no delivery: what cannot be sent now is recorded as due later, or held, which means that it waits for a recovery.
//
// Three sources give it tasks and take their outcomes:
//
//	Feed     new events. Package dispatcher calls Start for the first attempt of each delivery, while Serve stores the records
//	Queue    due messages. Package retrier calls Run for the later attempts, for first attempts that the Feed has recorded as due later,
//	         and for all of an ordered endpoint: its deliveries about one record stand in a line in the store, and the end of one makes
//	         the next one due
//	Backlog  a recovery, which sends old deliveries again on a tenant's request. Package retrier calls Start, and the schedules begin again
//
// Sample sends a sample event without a task.
//
// An attempt needs one of the process's slots, which companies and endpoints share (see slots), the permission of its endpoint's state (see
// package endpoint), and that of its endpoint's bounds: a rate, a breaker and, among processes, leased slots. A process that sends alone
// keeps the bounds in memory, and may lose them without harm. Processes that send to the same endpoints share them in an item for each
// endpoint.
//
// A task goes through these phases. The step is the method that leaves a phase. Without one, another owner takes the task on: its lane, its
// request, the writer, its line, or the task of the same delivery:
//
//	phase      what has happened, and what may follow                                    step     next phase
//	given      the source has given it. It gets a slot, or ends without one. A Feed's    place    placed, ended; Feed: waiting,
//	           task goes to its lane, or to its line, or waits for the task of the                decided, joining, met, returned
//	           same delivery in progress. If an earlier process may have recorded its
//	           delivery, the record is read. If the outcome of the latest attempt is
//	           still in memory, it is recorded, and no attempt is made                            decided
//	waiting    a Feed's task is in the lane of its endpoint. When a slot is free, it     –        placed, decided
//	           goes on. After 10 s, or at shutdown, it is recorded as due later
//	placed     it has a slot. The endpoint's state and its bounds are asked              ask      asked, ended; Feed: decided
//	asked      an attempt may begin, or the delivery must be held, or the breaker of a   fetch    ready, ended
//	           Queue's task is open. The Queue's delivery is read: it may have no use
//	           for an attempt any more. If its attempt may be a repetition, if it
//	           stands in a line or if writes fail, it is claimed: a write keeps other
//	           messages from it, and allows the attempt
//	ready      the delivery is held, or its attempt begins unless it is too late for it  send     decided, ended
//	sending    the request is under way                                                  –        decided
//	decided    the delivery has its new state in memory. The Queue and the Backlog give  record   recording, ended
//	           the slot back and write the record. A Feed's record goes to the writer,
//	           and its slot to the next task of the lane
//	recording  the writer stores the record, with others or alone (see Deps.Separate)    –        returned
//	joining    the task is behind the others of its line, and is recorded there          –        returned
//	met        the delivery is in progress, and that task's outcome is this one's too    –        returned
//	returned   the source has the task of the Feed and its outcome                       –
//	ended      the outcome is complete, and the task holds nothing                       –
//
// A lane holds 1024 tasks or 1 MB, and all lanes 4096 tasks. A task without room is recorded as due later.
//
// If the process dies, the source gives the tasks that are not recorded again:
//
//	Feed     the change is redelivered. If it is younger than a minute, the attempt is made again. Otherwise, the delivery is recorded
//	         first, and the Queue makes the attempt. A recorded delivery is dropped
//	Queue    the message comes back. The delivery is claimed, and the attempt made again
//	Backlog  the recovery's message comes back. Nothing is written before an attempt, so an unrecorded one is made again
//
// If a step panics, the attempt has failed, or is made later (see lose). If the store fails, the writer keeps the Feed's records, and
// the outcomes of the others stay in memory, at most 4096. If it refuses a record, as without the right to write, the task fails after
// 1.4 s, and its outcome stays in memory. The company's attempts, or all after a second company's failure, stop until a write succeeds. A
// claim is such a write.
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
	"orgops/shared/webhook/endpoint"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/post"
)

// Courier is the engine that makes the attempts of all companies' deliveries. Make one with New. It is safe for concurrent use.
type Courier struct {
	Deps
	*endpoint.Cache
	slots   *slots
	homes   homes
	records *records
	writer  *writer
	order   *order
	process string // names it in shared bounds
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
	c := &Courier{Deps: d, slots: newSlots(TotalSlots, d.Now), homes: homes{known: map[endpoint.Key]*used{}}, records: newRecords(), writer: newWriter(d), order: &order{room: make(chan struct{}, joinAtOnce)}}
	c.slots.work, c.slots.spread = c.work, !d.Shared
	c.writer.wrote, c.writer.done = c.records.wrote, c.stored
	c.process = fmt.Sprintf("%08x", uint32(c.Random()*(1<<32)))
	c.Cache = endpoint.New(endpoint.Deps{
		Store: d.Store, Vault: d.Vault, Engine: d.Engine, Logger: d.Logger, Now: d.Now, Fresh: d.Fresh,
		Saw: func(e *endpoint.Endpoint, bounds *store.Item, at time.Time) { c.homeOf(e).saw(bounds, at) },
	})
	return c
}

// newHome makes a home for an endpoint's bounds.
func (c *Courier) newHome(company store.Company, provider, incarnation string) home {
	if !c.Shared {
		return &memory{vitals: vitals{now: c.Now, random: c.Random}}
	}
	return &lease{
		vitals: vitals{now: c.Now, random: c.Random}, company: company, provider: provider, key: integration.BoundsKey(provider, incarnation),
		process: c.process, logger: c.Logger, lock: make(chan struct{}, 1),
	}
}

// Spill returns how long a delivery without a free slot waits: a random time of one to three seconds, so that not all come back together.
func (c *Courier) Spill() time.Duration { return spillDelay(c.Random) }

func (c *Courier) soon() time.Time { return c.Now().Add(c.Spill()) }

func spillDelay(random func() float64) time.Duration {
	return time.Second + time.Duration(random()*float64(2*time.Second))
}
