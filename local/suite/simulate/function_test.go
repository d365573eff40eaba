package simulate_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"orgops/local/suite/simulate/simqueue"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/policyengine"
	"orgops/shared/run/boot"
	"orgops/shared/run/lambda/start"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/timerqueue"
	"orgops/shared/storage/vault"
	"orgops/shared/webhook/outbound"
)

// function describes a Lambda function. In is the event, Out the answer.
type function struct {
	name    string
	timeout time.Duration
	build   func(*environment) func(context.Context, any) (any, error)
	idle    time.Duration // then an environment ends; 0: it stays

	environments []*environment
	made         int // environments
	calls        int // invocations
}

// environment runs one invocation at a time and keeps its memory between them.
type environment struct {
	w       *world
	f       *function // nil: a client
	name    string
	handle  func(context.Context, any) (any, error)
	ctx     context.Context
	end     context.CancelFunc
	mu      sync.Mutex
	skew    time.Duration // of the clock; guarded by mu
	random  *rand.Rand    // guarded by mu
	sent    []string      // bodies of the messages that it has sent; guarded by mu
	busy    *invocation
	dead    bool // guarded by the scheduler's lock
	usedAt  time.Time
	current *invocation // the last one
}

// invocation holds one call of a function.
type invocation struct {
	env      *environment
	name     string
	deadline time.Time
	over     bool // it has returned, or was killed
	returned bool
	faulted  bool // one of its calls was refused, slow or lost
	lineage  simqueue.Lineage
	out      any
	err      error
	then     func(out any, err error)
}

type whoKey struct{}

// as names what a context works on. It is part of the names of the calls that are made with the context.
func as(ctx context.Context, who string) context.Context {
	if parent, ok := ctx.Value(whoKey{}).(string); ok {
		who = parent + " " + who
	}
	return context.WithValue(ctx, whoKey{}, who)
}

// who returns the name of a context's work, or the environment's.
func (e *environment) who(ctx context.Context) string {
	if name, ok := ctx.Value(whoKey{}).(string); ok {
		return name
	}
	return e.name
}

// faulted returns the environment, or nil for a client's, whose calls have no faults.
func (e *environment) faulted() *environment {
	if e.f == nil {
		return nil
	}
	return e
}

// roll returns a number from [0, 1) of the environment's own.
func (e *environment) roll() float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.random.Float64()
}

func (e *environment) now() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Now().Add(e.skew)
}

// set steps the environment's clock.
func (e *environment) set(skew time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.skew = skew
}

// services returns the parts of an environment. They are the real ones, over the simulated drivers.
func (e *environment) services() *boot.Services {
	return boot.New(boot.Parts{
		Store: storeOf{e}, Retries: e.timed(e.w.retries), Syncs: e.timed(e.w.syncs), Notices: e.timed(e.w.notices), Mail: postOf{e},
		DataKeys:   keysOf{e},
		Vault:      newSafe(vault.New(keysOf{e}, keysOf{e}, e.now)),
		Connectors: connector.New(source{e}), Client: outbound.New(outbound.Options{Transport: transport{e}}),
		Engine: &engine{real: policyengine.New(e.now), name: e.name},
		Logger: slog.New(slog.DiscardHandler), Now: e.now, Random: e.roll, Separate: true,
	})
}

// timed returns a queue as the programs of the functions have it.
func (e *environment) timed(q *line) queue.Queue {
	return timerqueue.Queue{Queue: queueOf{e, q}, Store: storeOf{e}, Name: q.name, Now: e.now}
}

// free returns an environment for an invocation: an idle one, or a new one while there are fewer than the plan allows.
func (w *world) free(f *function) *environment {
	var idle []*environment
	for _, e := range f.environments {
		if e.busy == nil {
			idle = append(idle, e)
		}
	}
	// A measurement follows the documents: Lambda makes an environment only if none is idle. Tests of faults have more.
	fresh := len(f.environments) < w.plan.environments && (len(idle) == 0 || w.latency == 0 && w.chance(0.2))
	switch {
	case fresh:
		return w.open(f)
	case len(idle) == 0:
		return nil
	}
	return idle[w.random.IntN(len(idle))]
}

func (f *function) available(w *world) bool {
	return len(f.environments) < w.plan.environments ||
		slices.ContainsFunc(f.environments, func(e *environment) bool { return e.busy == nil })
}

func (w *world) open(f *function) *environment {
	f.made++
	e := &environment{w: w, f: f, name: fmt.Sprintf("%s/%d", f.name, f.made)}
	e.random = rand.New(rand.NewPCG(w.random.Uint64(), w.random.Uint64()))
	if w.plan.on[clocks] && w.faulty() {
		e.skew = w.skew()
	}
	e.ctx, e.end = context.WithCancel(context.Background())
	e.handle = f.build(e)
	f.environments = append(f.environments, e)
	return e
}

// invoke starts an invocation in an environment, which begins a chain. then gets its result, or the error of a killed one.
func (w *world) invoke(e *environment, in any, then func(out any, err error)) *invocation {
	return w.chain(e, simqueue.Lineage{e.f.name: 1}, in, then)
}

// chain starts an invocation that belongs to a chain.
func (w *world) chain(e *environment, lineage simqueue.Lineage, in any, then func(out any, err error)) *invocation {
	e.f.calls++
	v := &invocation{env: e, name: fmt.Sprintf("%s#%d", e.name, e.f.calls), deadline: time.Now().Add(e.f.timeout), then: then, lineage: lineage}
	e.busy, e.current = v, v
	w.running = append(w.running, v)
	ctx, cancel := context.WithDeadline(as(e.ctx, v.name), v.deadline)
	handle := start.Guard(slog.New(slog.DiscardHandler), start.WithMargin(e.handle))
	w.alive.Go(func() {
		defer cancel()
		growStack()
		out, err := handle(ctx, in)
		w.mu.Lock()
		v.returned, v.out, v.err = true, out, err
		w.mu.Unlock()
		w.signal()
	})
	return v
}

// growStack gives a goroutine the stack of 32 KiB that it will need, while there is little on it to move. To move a deep stack two or
// three times took a twelfth of a seed's time.
//
//go:noinline
func growStack() byte {
	var frame [14_000]byte
	return frame[len(os.Args)]
}

// returns ends an invocation whose handler has returned.
func (w *world) returns(v *invocation) {
	w.trace.add("%s returns: %s", v.name, outcome(v.err))
	w.finish(v)
	v.then(v.out, v.err)
}

func (w *world) finish(v *invocation) {
	v.over, v.env.busy, v.env.usedAt = true, nil, time.Now()
	w.running = slices.DeleteFunc(w.running, func(other *invocation) bool { return other == v })
}

// kill ends an environment at once. Each of its calls was carried out or not; no later call has an effect.
func (w *world) kill(e *environment) {
	for _, c := range w.pending() {
		if c.env != e {
			continue
		}
		if c.kind != gate && !c.held && w.chance(0.5) {
			err := c.do()
			w.trace.add("%s, while killed: %s", c.id, outcome(err))
		}
	}
	v := e.busy
	w.close(e)
	if v != nil {
		w.finish(v)
		v.then(nil, errKilled)
	}
}

// close removes an environment. Its goroutines end, because every call they make returns an error.
func (w *world) close(e *environment) {
	w.excuseAll(e)
	e.f.environments = slices.DeleteFunc(e.f.environments, func(other *environment) bool { return other == e })
	w.mu.Lock()
	e.dead = true
	w.mu.Unlock()
	for _, c := range w.pending() {
		if c.env == e {
			w.answer(c, errKilled)
		}
	}
	e.end()
}

// listFunctions adds what invocations and environments can do.
func (w *world) listFunctions(a *agenda) {
	for _, v := range w.running {
		w.mu.Lock()
		returned := v.returned
		w.mu.Unlock()
		if returned {
			a.add(v.name+" returns", func() { w.returns(v) })
		} else if a.due(v.deadline) {
			a.add(v.name+" times out", func() {
				w.trace.add("%s times out", v.name)
				w.kill(v.env)
			})
		}
	}
	for _, f := range w.functions {
		if f.idle == 0 {
			continue
		}
		for _, e := range f.environments {
			if e.busy == nil && a.due(e.usedAt.Add(f.idle)) {
				a.add(e.name+" ends", func() {
					w.trace.add("%s ends", e.name)
					w.close(e)
				})
			}
		}
	}
}
