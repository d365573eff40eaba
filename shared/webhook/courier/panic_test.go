package courier_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/endpoint"
	"orgops/shared/webhook/outbound"
)

// confidential stands for a secret in the value of a panic.
const confidential = "whsec_confidential"

// all are the sources, and later those of recorded deliveries.
var (
	all   = []courier.Source{courier.Feed, courier.Queue, courier.Backlog}
	later = all[1:]
)

// network is a network whose requests panic while broken.
type network struct {
	http.RoundTripper
	broken atomic.Bool
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	if n.broken.Load() {
		panic(confidential)
	}
	return n.RoundTripper.RoundTrip(r)
}

// keys is a vault that panics while broken.
type keys struct {
	integration.Vault
	broken atomic.Bool
}

func (k *keys) Open(ctx context.Context, company, label string, sealed []byte) ([]byte, error) {
	if k.broken.Load() {
		panic(confidential)
	}
	return k.Vault.Open(ctx, company, label, sealed)
}

// panicking is a courier in which one step of an attempt panics.
type panicking struct {
	*running
	network *network
	vault   *keys
	faulty  *worktest.Store
	log     *logtest.Log
	failing func(context.Context, *endpoint.Endpoint) time.Time
	shares  atomic.Int64 // writes of shared bounds
}

// every runs a test with the tasks of some sources and with each home of the bounds.
func every(t *testing.T, sources []courier.Source, test func(p *panicking, source courier.Source)) {
	t.Helper()
	for _, source := range sources {
		for home, shared := range map[string]bool{"memory": false, "lease": true} {
			t.Run([]string{"feed", "queue", "backlog"}[source]+" "+home, func(t *testing.T) {
				t.Parallel()
				p := &panicking{network: &network{RoundTripper: http.DefaultTransport}, vault: &keys{}, log: &logtest.Log{}}
				p.running = setup(t, 0, func(d *courier.Deps) {
					d.Client = outbound.New(outbound.Options{AllowLoopback: true, Transport: p.network})
					p.vault.Vault, d.Vault = d.Vault, p.vault
					d.Shared, d.Logger = shared, slog.New(slog.NewTextHandler(p.log, nil))
				})
				p.faulty = &worktest.Store{Store: p.Store}
				p.repair()
				p.Go(func(ctx context.Context) {
					_ = p.Serve(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil })
				})
				test(p, source)
			})
		}
	}
}

// repair ends the panics.
func (p *panicking) repair() {
	p.network.broken.Store(false)
	p.vault.broken.Store(false)
	p.failing = nil
	p.faulty.Before(func(ops []store.Op) error {
		if ops[0].Entity == integration.BoundsEntity {
			p.shares.Add(1)
		}
		return nil
	})
}

// key is that of the only delivery.
func (p *panicking) key() string { return delivery.Key("e1", "webhook") }

// make gives the engine a task of the delivery, and returns its outcome.
func (p *panicking) make(source courier.Source) courier.Outcome {
	company := store.For(p.faulty, "a")
	t := &courier.Task{Source: source, Company: company, Key: p.key(), Delivery: p.delivery(), Failing: p.failing}
	if p.Get("a", p.key(), &t.Delivery) {
		item, _ := company.Get(p.T.Context(), p.key(), nil)
		t.Version, t.Generation = item.Version, t.Delivery.Generation
	}
	if source == courier.Queue {
		return p.Run(p.T.Context(), t)
	}
	done := make(chan courier.Outcome, 1)
	t.Done = func(o courier.Outcome) { done <- o }
	if o, began := p.Start(p.T.Context(), t); !began {
		return o
	}
	return <-done
}

// given stores the delivery as the source finds it.
func (p *panicking) given(source courier.Source) {
	d := p.delivery()
	switch source {
	case courier.Feed:
		return
	case courier.Queue:
		d.Enqueue(p.Clock.Now())
	case courier.Backlog:
		d.End(delivery.Dead)
	}
	p.Put("a", p.key(), delivery.Entity, d)
}

// wantRecord compares the record of the delivery.
func (p *panicking) wantRecord(state delivery.State, attempts ...delivery.State) {
	p.T.Helper()
	var d delivery.Delivery
	p.Get("a", p.key(), &d)
	var got []delivery.State
	for _, one := range d.Attempts {
		got = append(got, one.State)
	}
	if diff := cmp.Diff(append([]delivery.State{state}, attempts...), append([]delivery.State{d.State}, got...)); diff != "" {
		p.T.Errorf("states of the delivery and its attempts differ (-want +got):\n%s", diff)
	}
}

// wantReported checks that the panic is counted and in the log, without its value.
func (p *panicking) wantReported() {
	p.T.Helper()
	if sums, _ := p.Measured(); sums["AttemptsFailed"] == 0 {
		p.T.Error("no failed attempt is counted, want one")
	}
	log := p.log.String()
	for _, want := range []string{"attempt panicked", delivery.Key("e1", ""), "goroutine"} {
		if !strings.Contains(log, want) {
			p.T.Errorf("log = %s\nwant it with %q", log, want)
		}
	}
	if strings.Contains(log, confidential) {
		p.T.Errorf("log = %s\nwant it without the value of the panic", log)
	}
}

// wantNone makes a task of the delivery after the panics, and checks that it has no outcome and leaves no slot taken.
func (p *panicking) wantNone(source courier.Source) {
	p.T.Helper()
	p.repair()
	if o := p.make(source); o != (courier.Outcome{}) {
		p.T.Errorf("next task: outcome %+v, want none", o)
	}
	p.wantSlotsFree()
}

// wantSlotsFree waits until no slot is taken. A lane gives its slot back while its task ends.
func (p *panicking) wantSlotsFree() {
	p.T.Helper()
	worktest.Until(p.T, "no slot is taken", func() bool { return p.InFlight() == 0 })
}

// wantReleased makes the next attempt of the delivery by the Queue, and checks that the engine holds nothing of the one before.
func (p *panicking) wantReleased() {
	p.T.Helper()
	p.wantSlotsFree()
	p.Clock.Advance(30 * time.Second)
	p.wantNone(courier.Queue)
	if n := len(p.receiver.All()); n != 1 {
		p.T.Errorf("%d requests have arrived, want 1", n)
	}
	if n := p.shares.Load(); n != 0 {
		p.T.Errorf("%d writes of shared bounds, want none: a second attempt at once is more than the free one", n)
	}
}

// TestCourier_Panic_Sending lets the request panic. The attempt is recorded as failed, and the schedule goes on.
func TestCourier_Panic_Sending(t *testing.T) {
	t.Parallel()
	every(t, all, func(p *panicking, source courier.Source) {
		p.given(source)
		p.network.broken.Store(true)
		if o := p.make(source); o != (courier.Outcome{}) {
			p.T.Errorf("outcome %+v, want none", o)
		}
		p.wantRecord(delivery.Scheduled, delivery.Failed)
		p.wantReported()
		p.wantReleased()
		p.wantRecord(delivery.Delivered, delivery.Failed, delivery.Delivered)
	})
}

// TestCourier_Panic_Judging panics after the answer. The record is that of the attempt.
func TestCourier_Panic_Judging(t *testing.T) {
	t.Parallel()
	every(t, all, func(p *panicking, source courier.Source) {
		p.given(source)
		p.receiver.Status(http.StatusNotFound)
		p.failing = func(context.Context, *endpoint.Endpoint) time.Time { panic(confidential) }
		if o := p.make(source); o != (courier.Outcome{}) {
			p.T.Errorf("outcome %+v, want none", o)
		}
		p.wantRecord(delivery.Scheduled, delivery.Failed)
		p.wantReported()
		p.receiver.Next()
		p.receiver.Status(http.StatusNoContent)
		p.Clock.Advance(30 * time.Second)
		p.wantNone(courier.Queue)
		p.wantRecord(delivery.Delivered, delivery.Failed, delivery.Delivered)
	})
}

// TestCourier_Panic_Asking panics while the endpoint is read. No attempt is made, and the source or the Queue makes it later.
func TestCourier_Panic_Asking(t *testing.T) {
	t.Parallel()
	every(t, all, func(p *panicking, source courier.Source) {
		p.given(source)
		p.vault.broken.Store(true)
		o := p.make(source)
		switch source {
		case courier.Feed:
			if o != (courier.Outcome{}) {
				p.T.Errorf("outcome %+v, want none", o)
			}
			p.wantRecord(delivery.Scheduled)
		default:
			if o.Err == nil {
				p.T.Errorf("outcome %+v, want an error", o)
			}
		}
		p.wantReported()
		if source == courier.Backlog {
			p.wantNone(source)
			return
		}
		p.wantReleased()
	})
}

// TestCourier_Panic_Recording panics while the record is written. A later task writes it, and does not make the attempt again. The record
// of a Feed's task is the writer's.
func TestCourier_Panic_Recording(t *testing.T) {
	t.Parallel()
	every(t, later, func(p *panicking, source courier.Source) {
		p.given(source)
		p.faulty.Before(func([]store.Op) error { panic(confidential) })
		if o := p.make(source); o.Err == nil {
			p.T.Errorf("outcome %+v, want an error", o)
		}
		p.wantReported()
		p.wantNone(source)
		p.wantRecord(delivery.Delivered, delivery.Delivered)
		if n := len(p.receiver.All()); n != 1 {
			p.T.Errorf("%d requests have arrived, want 1", n)
		}
	})
}

// TestCourier_Panic_Probe lets the request of a breaker's probe panic. The next attempt is the probe.
func TestCourier_Panic_Probe(t *testing.T) {
	t.Parallel()
	every(t, later, func(p *panicking, source courier.Source) {
		p.given(source)
		b := p.Bounds(p.T.Context(), p.Company("a"))
		for range 5 {
			b.Admit(0, 1)
			b.Done(failure)
		}
		p.Clock.Advance(30 * time.Second)
		p.network.broken.Store(true)
		p.make(source)
		p.wantReported()
		if _, ok := b.Admit(0, 1); !ok {
			p.T.Error("no other attempt is admitted after the probe's panic, want one")
		}
	})
}

// TestCourier_Panic_Line panics while a delivery joins its line. Its change is redelivered.
func TestCourier_Panic_Line(t *testing.T) {
	t.Parallel()
	every(t, all[:1], func(p *panicking, source courier.Source) {
		p.Register(worktest.Endpoint{Company: "a", Provider: "ordered", URL: p.receiver.URL, Secrets: p.receiver.Secrets, Events: []string{"memory.*"}, Ordered: true})
		e, err := p.Endpoint(p.T.Context(), store.For(p.faulty, "a"), "ordered")
		errtest.Must(p.T, err)
		join := func() courier.Outcome {
			d := p.delivery()
			d.Endpoint, d.Line = "ordered", "MEMORY#1"
			done := make(chan courier.Outcome, 1)
			p.Start(p.T.Context(), &courier.Task{
				Source: source, Company: e.Company, Key: delivery.Key(d.EventID, d.Endpoint), Endpoint: e, Delivery: d,
				Done: func(o courier.Outcome) { done <- o },
			})
			return <-done
		}
		p.faulty.Before(func([]store.Op) error { panic(confidential) })
		if o := join(); o.Err == nil {
			p.T.Errorf("outcome %+v, want an error", o)
		}
		p.wantReported()
		p.repair()
		if o := join(); o != (courier.Outcome{}) {
			p.T.Errorf("outcome %+v of the next task, want none", o)
		}
	})
}
