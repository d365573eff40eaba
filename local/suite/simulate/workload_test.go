package simulate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"orgops/local/suite/simulate/simstore"
	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
)

// Providers of a company, next to its endpoints.
const (
	inbound = "github"
	feed    = "feed"
)

// span is how long clients write and faults happen.
const span = time.Hour

// errand is something that a client or the world does at a time.
type errand struct {
	at  time.Time
	id  string
	run func()
}

func names() []string { return []string{"acme-alder", "acme-birch", "acme-cedar", "acme-damson"} }

// settle creates the companies with their integrations.
func (w *world) settle() error {
	n := 1 + w.random.IntN(len(names()))
	w.companies = names()[:n]
	for _, company := range w.companies {
		for i := range 1 + w.random.IntN(4) {
			if err := w.endpoint(company, i); err != nil {
				return err
			}
		}
		config := map[string]any{"company": company}
		err := errors.Join(
			w.found(company),
			w.configure(company, inbound, config, "",
				integration.InboundReceive, integration.MemoryUpsert, integration.GoalUpdate, integration.TimelineNote),
			w.configureHooks(company),
			w.configure(company, feed, config, "", integration.SyncPull, integration.MemoryUpsert),
			w.configureSlack(company),
		)
		if err != nil {
			return err
		}
	}
	if err := errors.Join(w.settleElder(), w.settleMove()); err != nil {
		return err
	}
	if w.plan.on[dead] {
		host := sortedKeys(w.receivers)[0]
		w.receivers[host].mood, w.receivers[host].events = departed, []string{"goal.*"}
		w.receivers[host].ordered = false // each delivery of a line would take three days to die
		return w.subscribe(w.receivers[host])
	}
	return nil
}

// endpoint registers a receiver of a company.
func (w *world) endpoint(company string, n int) error {
	r := &receiver{company: company, provider: "webhook", ordered: n%2 == 1, requests: map[string][]*request{}}
	if n > 0 {
		r.provider = fmt.Sprintf("webhook-%d", n)
	}
	r.events = [][]string{{"memory.*"}, {"goal.*", "timeline.*"}, {"memory.created", "integration.*"}, {"memory.*", "goal.*", "timeline.*"}}[w.random.IntN(4)]
	r.secret = secretOf(w.seed, company, r.provider)
	if w.plan.on[failing] && w.random.IntN(2) == 0 {
		r.mood = moody
	}
	if w.plan.on[gone] && w.random.IntN(3) == 0 {
		r.mood = leaving
	}
	w.receivers[r.host()] = r
	return w.subscribe(r)
}

func (w *world) subscribe(r *receiver) error {
	config := map[string]any{"url": "https://" + r.host() + "/", "events": r.events, "ordered": r.ordered}
	return w.configure(r.company, r.provider, config, r.secret, integration.EventDeliver)
}

// configure stores a certified integration, and replaces an existing one. It was created before any change: a change counts as
// earlier than an endpoint if the clock of the process that wrote it is behind.
func (w *world) configure(company, provider string, config map[string]any, secret string, ports ...integration.Port) error {
	ctx, c := context.Background(), w.company(company)
	raw, err := json.Marshal(config)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	i := integration.Integration{
		Provider: provider, Kind: provider, Enabled: true, Config: raw, Permissions: ports, CreatedAt: now.Add(-time.Minute), UpdatedAt: now,
	}
	i.Incarnation = id.At(i.CreatedAt, company, provider)
	certify(&i)
	_, version, _ := integration.Load(ctx, c, provider)
	ops := []store.Op{integration.Create(c, i)}
	if version > 0 {
		ops[0] = c.Replace(integration.Key(provider), integration.Entity, version, i)
	}
	if secret != "" && version == 0 {
		v := vault.New(w.keys, w.keys, time.Now)
		op, err := integration.SaveSecrets(ctx, c, v, i, 0, integration.Secrets{Signing: []integration.SigningSecret{{Value: secret, CreatedAt: now}}})
		if err != nil {
			return err
		}
		ops = append(ops, op)
	}
	return c.Commit(ctx, ops...)
}

// company returns a view of a company without faults, for the set-up and the checks.
func (w *world) company(id string) store.Company {
	return store.For(simstore.Store{Table: w.table, Now: time.Now}, id)
}

// scheduleAll draws what happens in the hour.
func (w *world) scheduleAll() {
	for n := range 5 + w.random.IntN(9) {
		w.schedule(w.anytime(), fmt.Sprintf("errand %02d", n), w.draw(n))
	}
	w.scheduleElder()
	w.scheduleCrowd()
	w.schedule(w.anytime(), "the move", w.client("mover", w.companies[0], func(ctx context.Context, cl client) error { return cl.move(ctx) }))
	for n := range w.random.IntN(3) {
		company := w.companies[w.random.IntN(len(w.companies))]
		at := w.anytime()
		if w.plan.on[split] {
			w.schedule(at.Add(-time.Minute), fmt.Sprintf("rest %d", n), w.rest)
		}
		w.schedule(at, fmt.Sprintf("rebuild %d", n), w.client(fmt.Sprintf("rebuild %d", n), company, func(ctx context.Context, cl client) error {
			return cl.rebuild(ctx)
		}))
	}
	if w.plan.on[split] {
		for n := range 1 + int(w.between(0, maxShards)) {
			w.schedule(w.anytime(), fmt.Sprintf("split %d", n), w.split)
		}
	}
	if w.plan.on[clocks] {
		for n := range 5 {
			w.schedule(w.anytime(), fmt.Sprintf("clock %d", n), w.stepClock)
		}
	}
}

func (w *world) anytime() time.Time { return w.trace.start.Add(w.between(0, span)) }

func (w *world) schedule(at time.Time, id string, run func()) {
	w.errands = append(w.errands, errand{at, id, run})
}

// draw returns what a client does.
func (w *world) draw(n int) func() {
	company := w.companies[w.random.IntN(len(w.companies))]
	nonce := fmt.Sprint(n)
	endpoint := "webhook"
	switch w.random.IntN(15) {
	case 10, 11:
		return w.sends(company, nonce)
	case 12, 13, 14:
		do := acts()[w.random.IntN(len(acts()))]
		return w.client(nonce, company, func(ctx context.Context, cl client) error { return do(cl, ctx, nonce) })
	case 0:
		return w.client(nonce, company, func(ctx context.Context, cl client) error { return cl.edit(ctx, endpoint, disable) })
	case 1:
		return w.client(nonce, company, func(ctx context.Context, cl client) error { return cl.edit(ctx, endpoint, enable) })
	case 2:
		return w.client(nonce, company, func(ctx context.Context, cl client) error { return cl.recover(ctx, endpoint, nonce) })
	case 3:
		return w.client(nonce, company, func(ctx context.Context, cl client) error { return cl.sync(ctx, nonce) })
	case 4:
		return w.client(nonce, company, func(ctx context.Context, cl client) error { return cl.cancel(ctx) })
	case 5:
		return w.client(nonce, company, func(ctx context.Context, cl client) error { return cl.resume(ctx, endpoint) })
	}
	return func() {
		actions := w.actions(company, 1+w.random.IntN(3))
		w.client(nonce, company, func(ctx context.Context, cl client) error { return cl.receive(ctx, actions) })()
	}
}

// client returns a function that starts a client.
func (w *world) client(nonce, company string, do func(context.Context, client) error) func() {
	return func() {
		e := &environment{w: w, name: "client " + nonce}
		cl := client{w: w, e: e, c: store.For(storeOf{e}, company)}
		w.trace.add("%s of %s starts", e.name, company)
		w.alive.Go(func() {
			if err := do(as(w.ctx, e.name), cl); err != nil {
				w.mu.Lock()
				w.refused = fmt.Errorf("%s: %w", e.name, err)
				w.mu.Unlock()
			}
		})
	}
}

// maxShards is how many shards the table may have at once.
const maxShards = 64

// split splits an open shard: the hottest, or any.
func (w *world) split() {
	var open []*simstore.Shard
	for _, sh := range w.table.Stream().Shards() {
		if !sh.Closed() {
			open = append(open, sh)
		}
	}
	sh := open[w.random.IntN(len(open))]
	if w.random.IntN(2) == 0 {
		sh = slices.MaxFunc(open, func(a, b *simstore.Shard) int { return len(a.Records(0)) - len(b.Records(0)) })
	}
	if len(open) < maxShards && w.table.Stream().Split(sh) {
		w.splits++
		w.trace.add("split %s, the split %d", sh.ID, w.splits)
	}
}

// rest lets the projector follow one shard late, while it follows the others.
func (w *world) rest() {
	var lanes []*lane
	for _, r := range w.mappings[0].shards {
		if !r.done {
			lanes = append(lanes, r.lanes[0])
		}
	}
	if len(lanes) == 0 {
		return
	}
	l := lanes[w.random.IntN(len(lanes))]
	l.rests = time.Now().Add(time.Minute + w.between(0, 20*time.Minute))
	w.trace.add("%s rests until %v", l.name, l.rests.Sub(w.trace.start))
}

// skew returns how far a clock is ahead, or behind.
func (w *world) skew() time.Duration {
	ahead, behind := w.between(0, 3*time.Second), w.between(0, 3*time.Second)
	return ahead - behind
}

// stepClock steps the clock of an environment.
func (w *world) stepClock() {
	for _, f := range w.functions {
		for _, e := range f.environments {
			if w.random.IntN(3) == 0 && e.busy == nil {
				skew := w.skew()
				e.set(skew)
				w.trace.add("%s has a clock that is %v ahead", e.name, skew)
				return
			}
		}
	}
}

// repair enables each endpoint that is off and asks for what it has not got, as a tenant would.
func (w *world) repair(round int) {
	for _, host := range sortedKeys(w.receivers) {
		r := w.receivers[host]
		if r.company == elder {
			continue
		}
		nonce := fmt.Sprintf("repair %d of %s", round, host)
		w.client(nonce, r.company, func(ctx context.Context, cl client) error {
			if err := cl.revive(ctx, r.provider); err != nil || r.mood == departed {
				return err
			}
			return cl.recover(ctx, r.provider, nonce)
		})()
	}
}
