package simulate_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"orgops/functions/dispatcher"
	"orgops/functions/notifier"
	"orgops/functions/projector"
	"orgops/functions/retrier"
	"orgops/functions/syncer"
	"orgops/functions/ticker"
	"orgops/local/suite/simulate/simstore"
	"orgops/shared/base/id"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/company"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/parked"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/insight/projection"
	"orgops/shared/provider/policyengine"
	"orgops/shared/run/lambda/stream"
	"orgops/shared/run/lambda/work"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// projected and dispatched list what the filters of the two mappings pass, as infra/events does.
func projected() []string {
	return []string{
		approval.Entity, audit.Entity, company.Entity, delivery.Entity, executive.RecordEntity, goal.Entity, goal.ExplanationEntity, integration.Entity, memory.Entity,
		policy.Entity, policy.StoredEntity, projection.DueEntity, projection.MarkEntity, arrival.Entity, arrival.ReceiptEntity, recommendation.Entity, syncrun.Entity, timeline.Entity,
	}
}

func dispatched() []string {
	return []string{
		approval.Entity, audit.Entity, delivery.Entity, executive.RecordEntity, goal.Entity, integration.Entity, memory.Entity, notice.Entity, parked.Entity,
		recovery.Entity, recommendation.ToldEntity, syncrun.Entity, timeline.Entity, user.Entity,
	}
}

// deploy makes the functions as their programs do, with the simulated parts.
func (w *world) deploy() {
	add := func(name string, timeout, idle time.Duration, build func(*environment) func(context.Context, any) (any, error)) *function {
		f := &function{name: name, timeout: timeout, idle: idle, build: build}
		w.functions = append(w.functions, f)
		return f
	}
	project := add("projector", projecting().timeout, 0, func(e *environment) func(context.Context, any) (any, error) {
		s := e.services()
		p := projector.From(s)
		p.Store = spreadOf{storeOf{e}}
		return adapted(stream.ByCompany(func(ctx context.Context, b store.Batch) error {
			ctx = as(ctx, b.Changes[0].Company)
			if err := e.begin(ctx); err != nil {
				return err
			}
			return p.Handle(ctx, b)
		}, s.Lot(projector.Consumer)))
	})
	// The dispatcher works between invocations, so an idle environment costs time. A frozen one would not.
	dispatch := add("dispatcher", dispatching().timeout, 2*time.Second, func(e *environment) func(context.Context, any) (any, error) {
		s := e.services()
		d := dispatcher.From(s)
		return adapted(stream.Run(func(_ context.Context, f store.Feed) error { return d.Run(e.ctx, namedFeed{f, e}) }, s.Lot(dispatcher.Consumer)))
	})
	retry := add("retrier", retrying().timeout, 0, func(e *environment) func(context.Context, any) (any, error) {
		return adapted(work.Each(e.worker(retrier.From(e.services()).Worker()), e.now))
	})
	sync := add("syncer", syncing().timeout, 0, func(e *environment) func(context.Context, any) (any, error) {
		return adapted(work.Each(e.worker(syncer.From(e.services()).Worker()), e.now))
	})
	tell := add("notifier", telling().timeout, 0, func(e *environment) func(context.Context, any) (any, error) {
		return adapted(work.Each(e.worker(notifier.From(e.services()).Worker()), e.now))
	})
	w.ticker = add("ticker", 50*time.Second, 0, func(e *environment) func(context.Context, any) (any, error) {
		t := ticker.From(e.services())
		t.Ask, t.Page, t.Around = e.asks, 1+int(e.roll()*4), e.around
		return func(ctx context.Context, in any) (any, error) { return nil, t.Handle(ctx, in.(ticker.Event)) }
	})
	w.addGroups()
	w.mappings = []*mapping{
		{following: projecting(), w: w, f: project, entities: projected(), readers: map[*simstore.Shard]*reader{}},
		{following: dispatching(), w: w, f: dispatch, entities: dispatched(), readers: map[*simstore.Shard]*reader{}},
	}
	w.pollers = []*poller{
		{working: retrying(), w: w, f: retry, q: w.retries},
		{working: syncing(), w: w, f: sync, q: w.syncs},
		{working: telling(), w: w, f: tell, q: w.notices},
	}
}

// begin waits until the scheduler lets a goroutine start.
func (e *environment) begin(ctx context.Context) error {
	growStack()
	return e.w.ask(ctx, &call{id: e.who(ctx) + " begins", kind: gate, env: e, do: func() error { return nil }})
}

// around names the work on a timer.
func (e *environment) around(ctx context.Context, key string, work func(context.Context) error) error {
	ctx = as(ctx, key)
	if err := e.begin(ctx); err != nil {
		return err
	}
	return work(ctx)
}

// worker names the work on each message.
func (e *environment) worker(w queue.Worker) queue.Worker {
	handle := w.Handle
	w.Handle = func(ctx context.Context, r queue.Received) (time.Time, error) {
		ctx = as(ctx, string(r.Body))
		if err := e.begin(ctx); err != nil {
			return time.Time{}, err
		}
		return handle(ctx, r)
	}
	return w
}

// namedFeed names the work on each change.
type namedFeed struct {
	store.Feed
	e *environment
}

// Consume implements store.Feed.
func (f namedFeed) Consume(ctx context.Context, consumer string, handle func(context.Context, store.Batch, func(error))) error {
	return f.Feed.Consume(ctx, consumer, func(ctx context.Context, b store.Batch, done func(error)) {
		ctx = as(ctx, b.Changes[0].Key+"@"+string(b.Changes[0].Sequence))
		if err := f.e.begin(ctx); err != nil {
			done(err)
			return
		}
		handle(ctx, b, done)
	})
}

// engine is the real policy engine with ids that are the same in every run of a seed.
type engine struct {
	real *policyengine.Engine
	name string
	made atomic.Int64
}

// Forget drops what the engine has cached of a company.
func (e *engine) Forget(company string) { e.real.Forget(company) }

// Decide implements policy.Engine.
func (e *engine) Decide(ctx context.Context, c store.Company, r policy.Request) (policy.Decision, error) {
	d, err := e.real.Decide(ctx, c, r)
	d.ID = id.At(d.At, e.name, fmt.Sprint(e.made.Add(1)))
	return d, err
}
