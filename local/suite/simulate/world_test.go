package simulate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/local/suite/simulate/simqueue"
	"orgops/local/suite/simulate/simstore"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/notice"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
)

// world holds everything of one seed.
type world struct {
	scheduler
	t    testing.TB
	ctx  context.Context // of the clients
	stop context.CancelFunc
	seed uint64
	plan plan

	table          *simstore.Table
	retries, syncs *line
	notices        *line
	mailed, posted mails                // to the mail host, and to Slack
	told           map[notice.State]int // notices at the end, by state
	joined         int                  // of them, those that went with another one
	keys           *keyring
	companies      []string
	receivers      map[string]*receiver // by host
	moving         map[string]*receiver // by host; see move
	left           time.Time            // when the former of them was deleted
	functions      []*function
	mappings       []*mapping
	pollers        []*poller
	ticker         *function
	groups         map[string]*function // the route groups, by name
	wishes         []*wish
	fate           fate      // of the elder company
	ended          time.Time // its work
	decisions      []*deciding
	hooks          []*webhook
	ticks          time.Time // the next minute of the clock
	errands        []errand
	running        []*invocation
	calm           bool // faults are over
	refused        error
	rebuilt        map[string]int64          // contexts, by company
	decoded        int                       // records of the stream
	changed        map[string][]store.Change // of the decoded records, by company
	splits         int                       // of shards
	broken         string                    // the first invariant that does not hold
	alive          sync.WaitGroup
	longest        int                                    // invocations of a function in one chain
	latency        time.Duration                          // of a call to the store or a queue
	counts         map[string]int                         // calls of functions, by function and kind
	committed      func(e *environment, ops []store.Op)   // nil: nothing hears of commits
	followed       func(m *mapping, r dynamostore.Record) // nil: nothing hears of records that are read and given to a function
}

// These limit a run after its hour: how long it may take to come to rest, and in how many steps.
const (
	patience = 5 * 24 * time.Hour
	maxSteps = 400_000
	rounds   = 4 // of repair
)

// newWorld makes the world of a seed. It must run in a bubble of synctest.
func newWorld(t testing.TB, seed uint64, allowed []fault) *world {
	random := rand.New(rand.NewPCG(seed, 0))
	w := &world{
		t: t, seed: seed, plan: newPlan(random, allowed), table: simstore.NewTable(), receivers: map[string]*receiver{}, rebuilt: map[string]int64{}, told: map[notice.State]int{}, changed: map[string][]store.Change{},
		retries: &line{simqueue.New(), "retries"}, syncs: &line{simqueue.New(), "syncs"}, notices: &line{simqueue.New(), "notices"}, keys: &keyring{keys: map[string][]byte{}},
		scheduler: scheduler{random: random, wake: make(chan struct{}, 1)},
	}
	w.ctx, w.stop = context.WithCancel(context.Background())
	w.trace.start = time.Now()
	w.trace.add("seed %d: at most %d environments, rate %.4f, %s", seed, w.plan.environments, w.plan.rate, strings.Join(w.plan.names(), " "))
	w.table.Clock = time.Now
	if w.plan.on[shuffled] {
		w.table.Shuffle = random.Shuffle
	}
	return w
}

// run simulates an hour with faults and then the time until everything rests, and checks the invariants.
func (w *world) run() {
	w.deploy()
	if err := w.settle(); err != nil {
		w.t.Fatal(err)
	}
	w.ticks = w.trace.start.Add(time.Minute)
	w.scheduleAll()
	w.schedule(w.trace.start.Add(span), "faults end", w.heal)
	w.until()
	for round := 1; round <= rounds && w.broken == "" && w.undelivered(); round++ {
		w.repair(round)
		w.until()
	}
	if w.broken == "" {
		w.check()
	}
	if w.broken == "" && w.plan.on[expiring] {
		w.expire()
	}
	w.end()
}

// until runs until nothing can happen any more.
func (w *world) until() {
	end := w.trace.start.Add(span + patience)
	for w.broken == "" && w.step(end, w.list) {
		if w.steps > maxSteps {
			w.violated("rest", "after %d steps something still happens", maxSteps)
		}
	}
}

// list adds everything that can happen.
func (w *world) list(a *agenda) {
	for _, c := range w.pending() {
		if a.due(c.at) {
			a.add(c.id, func() { w.take(c) })
		}
	}
	if w.ambiguous != "" {
		w.violated("determinism", "two calls of one name: %s", w.ambiguous)
	}
	w.listFunctions(a)
	for _, m := range w.mappings {
		m.list(a)
	}
	for _, p := range w.pollers {
		p.list(a)
	}
	for i, e := range w.errands {
		if a.due(e.at) {
			a.add(e.id, func() {
				w.errands = append(w.errands[:i:i], w.errands[i+1:]...)
				e.run()
			})
		}
	}
	if !w.ticks.IsZero() && a.due(w.ticks) {
		a.add("the clock ticks", w.tick)
	}
}

// heal ends the faults. Receivers answer 2xx from now on, except a dead one.
func (w *world) heal() {
	w.trace.add("faults end")
	w.calm = true
	w.repair(0)
}

func (w *world) faulty() bool { return !w.calm }

// down reports whether the store refuses everything.
func (w *world) down() bool {
	since := time.Since(w.trace.start)
	return w.plan.on[outage] && since > 20*time.Minute && since < 50*time.Minute
}

// isKeyless reports whether the key service refuses everything.
func (w *world) isKeyless() bool {
	since := time.Since(w.trace.start)
	return w.plan.on[keyless] && since > 5*time.Minute && since < 15*time.Minute
}

// isHot reports whether the store refuses writes because one company's partition is throttled.
func (w *world) isHot(ops []store.Op) bool {
	since := time.Since(w.trace.start)
	return w.plan.on[hot] && since > 10*time.Minute && since < 20*time.Minute && slices.ContainsFunc(ops, func(op store.Op) bool {
		company, ok := op.Partition.CompanyID()
		return ok && company == w.companies[0]
	})
}

// undelivered reports whether a repair could deliver something.
func (w *world) undelivered() (some bool) {
	w.eachDelivery(func(d stored) {
		to := w.receivers[d.Endpoint+"."+d.company+".test"]
		some = some || to != nil && d.Recoverable() && to.mood != departed
	})
	return some
}

// stored is a delivery with its company.
type stored struct {
	delivery.Delivery
	company string
}

// eachDelivery calls f with each delivery in the table.
func (w *world) eachDelivery(f func(stored)) {
	for _, company := range w.companies {
		for _, item := range w.items(company, delivery.Prefix) {
			d := stored{company: company}
			if err := item.Decode(&d.Delivery); err != nil {
				w.violated("records", "%v", err)
				continue
			}
			f(d)
		}
	}
}

// items returns the items of a company whose keys have a prefix.
func (w *world) items(company, prefix string) (all []store.Item) {
	c := w.company(company)
	for q := (store.Query{Prefix: prefix}); ; {
		page, err := c.Query(w.t.Context(), q)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, page.Items...)
		if q.After = page.Next; q.After == "" {
			return all
		}
	}
}

// violated records the first invariant that does not hold.
func (w *world) violated(invariant, format string, values ...any) {
	if w.broken == "" {
		w.broken = invariant + ": " + fmt.Sprintf(format, values...)
		w.trace.add("VIOLATED %s", w.broken)
	}
}

// end closes everything, so that no goroutine stays.
func (w *world) end() {
	w.stop()
	for _, f := range w.functions {
		for len(f.environments) > 0 {
			w.close(f.environments[0])
		}
	}
	for _, c := range w.pending() {
		w.answer(c, errKilled)
	}
	w.alive.Wait()
}
