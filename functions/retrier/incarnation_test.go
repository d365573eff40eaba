package retrier_test

import (
	"net/http"
	"testing"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recovery"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/courier"
)

// replaced is an endpoint that was deleted, and another one of its name.
type replaced struct {
	*running
	former, latter string // incarnations
	other          *worktest.Receiver
}

func setupReplaced(t *testing.T, d courier.Deps, edit ...func(*worktest.Endpoint)) *replaced {
	t.Helper()
	p := &replaced{former: id.New(), latter: id.New()}
	p.running = setup(t, append(edit, func(e *worktest.Endpoint) { e.Incarnation = p.former })...)
	p.Retrier = p.make(d)
	p.other = p.Receive()
	return p
}

// replace deletes the endpoint and registers the other receiver under its name.
func (p *replaced) replace(edit ...func(*worktest.Endpoint)) {
	p.T.Helper()
	e := worktest.Endpoint{
		Company: "a", Provider: "webhook", URL: p.other.URL, Secrets: p.other.Secrets, Events: []string{"memory.*"}, Incarnation: p.latter,
	}
	for _, f := range edit {
		f(&e)
	}
	p.Replace(e)
	p.Retrier.Courier.Forget("a") // as the dispatcher does
}

// to records the n-th delivery to an incarnation.
func (p *replaced) to(n int, incarnation string, edit ...func(*delivery.Delivery)) delivery.Job {
	p.T.Helper()
	j := p.deliver(n, append(edit, func(d *delivery.Delivery) { d.Incarnation = incarnation })...)
	j.Incarnation = incarnation
	return j
}

func (p *replaced) wantDeleted(j delivery.Job) {
	p.T.Helper()
	type state struct{ State, Because string }
	d := p.record(j)
	if got, want := (state{string(d.State), d.HeldBecause}), (state{"held", "deleted"}); got != want {
		p.T.Errorf("the delivery is %+v, want %+v", got, want)
	}
}

func (p *replaced) wantOther(want int) {
	p.T.Helper()
	if got := len(p.other.All()); got != want {
		p.T.Errorf("the other endpoint received %d deliveries, want %d", got, want)
	}
}

// everyReplaced runs a test with a process that sends alone, and with a Lambda.
func everyReplaced(t *testing.T, test func(p *replaced), edit ...func(*worktest.Endpoint)) {
	t.Helper()
	t.Run("alone", func(t *testing.T) { t.Parallel(); test(setupReplaced(t, courier.Deps{Fresh: time.Minute}, edit...)) })
	t.Run("shared", func(t *testing.T) { t.Parallel(); test(setupReplaced(t, courier.Deps{Shared: true}, edit...)) })
}

// TestRetrier_Replaced sends no delivery of an endpoint that was deleted to the one of its name, neither a retry nor a delivery that a
// recovery of either endpoint covers.
func TestRetrier_Replaced(t *testing.T) {
	t.Parallel()
	everyReplaced(t, func(p *replaced) {
		retry := p.to(0, p.former)
		dead := p.to(1, p.former, func(d *delivery.Delivery) { d.End(delivery.Dead) })
		p.replace()
		p.wantDone("the retry", p.handle(retry), 0)
		p.wantDeleted(retry)
		own := p.to(2, p.latter, func(d *delivery.Delivery) { d.Hold("sandbox") })
		for _, tt := range []struct {
			incarnation string
			recovered   int
		}{{p.former, 0}, {p.latter, 1}} {
			rec := recovery.Stored{Incarnation: tt.incarnation, Recovery: recovery.Recovery{
				ID: id.New(), Provider: "webhook", Since: p.Clock.Now().Add(-time.Hour), Until: p.Clock.Now(), State: recovery.Requested,
				RequestedAt: p.Clock.Now(),
			}}
			p.Put("a", recovery.Key(rec.ID), recovery.Entity, rec)
			p.handle(delivery.Job{Company: "a", Recovery: rec.ID})
			p.Get("a", recovery.Key(rec.ID), &rec)
			p.wantFinished(rec, tt.recovered)
		}
		p.wantSent(0)
		p.wantOther(1)
		p.wantDeleted(retry)
		p.wantStates("after both recoveries", []delivery.Job{dead, own}, delivery.Dead, delivery.Delivered)
	})
}

// TestRetrier_Replaced_Line lets the line of a deleted endpoint hold up no delivery about the same record to the next one.
func TestRetrier_Replaced_Line(t *testing.T) {
	t.Parallel()
	everyReplaced(t, func(p *replaced) {
		var jobs []delivery.Job
		join := func(n int, incarnation string) {
			j := p.to(n, incarnation, func(d *delivery.Delivery) { d.Line = "MEMORY#1" })
			d, lines := p.record(j), delivery.NewLines(p.Company("a"))
			errtest.Must(p.T, lines.Join(p.T.Context(), &d, p.Clock.Now()))
			p.save(d)
			errtest.Must(p.T, p.Company("a").Commit(p.T.Context(), lines.Ops()...))
			j.Generation = d.Generation
			jobs = append(jobs, j)
		}
		join(0, p.former)
		join(1, p.former)
		p.replace(ordered)
		join(2, p.latter)
		p.wantStates("at first", jobs, delivery.Scheduled, delivery.Waiting, delivery.Scheduled)
		p.handle(jobs[2])
		p.handle(jobs[0])
		p.handle(p.next(jobs[1]))
		p.wantStates("at last", jobs, delivery.Held, delivery.Held, delivery.Delivered)
		p.wantOther(1)
	}, ordered)
}

// TestRetrier_Replaced_InFlight deletes an endpoint during an attempt, whose answer then neither disables the next endpoint nor
// counts for its breaker.
func TestRetrier_Replaced_InFlight(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusGone, http.StatusServiceUnavailable} {
		everyReplaced(t, func(p *replaced) {
			p.receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
				p.replace()
				w.WriteHeader(status)
			})
			j := p.to(0, p.former)
			p.handle(j)
			p.wantEndpoint(endpoint{State: integration.Certified, Enabled: true})
			if again := p.record(j); again.Open() {
				p.Clock.Advance(again.NextAttemptAt.Sub(p.Clock.Now()))
				p.handle(p.next(j))
				p.wantDeleted(j)
			}
			p.wantOther(0)
		})
	}
}
