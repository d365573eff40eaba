package simulate_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
)

var backlogFlag = flag.Int("backlog", 300, "number of held deliveries that TestBacklog recovers")

// These shape the test of a backlog.
const (
	busy        = "busy"
	callTakes   = 5 * time.Millisecond // a call to the store or a queue
	answerTakes = time.Second          // the busy endpoint's answer
	quiet       = 19                   // other companies
	apart       = 500 * time.Millisecond
)

// backlogged holds what one run of the test shows.
type backlogged struct {
	counts        map[string]int  // of calls, by function and kind
	took          time.Duration   // until the backlog is delivered
	first, second []time.Duration // of the other companies: from an event to its attempt, from the first attempt to the next
}

// These bound what a delivery of a backlog costs over its life, in the form in which Lambda runs the service: round trips to the
// store, and the capacity units that DynamoDB bills. The goal is 1.5 of each. A process alone needs one read and one write:
// TestRetrier_Backlog.
const (
	mostReads, mostReadUnits   = 0.2, 0.4
	mostWrites, mostWriteUnits = 1.2, 1.3
	leastRate                  = 150 // deliveries a second, when the endpoint has its slots
	rampUp                     = 5 * time.Second
)

// TestBacklog recovers the held deliveries of one company, whose endpoint takes a second for an answer, in the form in which
// Lambda runs the service. It bounds what each delivery costs, and how much longer the other companies wait than without
// the backlog.
func TestBacklog(t *testing.T) {
	t.Parallel()
	n := *backlogFlag
	var calm, loaded backlogged
	synctest.Test(t, func(t *testing.T) {
		calm = newWorld(t, 1, nil).backlog(0, 10*time.Second+time.Duration(n)*time.Millisecond*4)
	})
	synctest.Test(t, func(t *testing.T) {
		loaded = newWorld(t, 1, nil).backlog(n, 10*time.Second+time.Duration(n)*time.Millisecond*4)
	})
	each := func(kind string) (sum float64) {
		for _, name := range sortedKeys(loaded.counts) {
			if one := float64(loaded.counts[name]-calm.counts[name]) / float64(n); strings.HasSuffix(name, " "+kind) {
				t.Logf("%.3f %s", one, name)
				sum += one
			}
		}
		return sum
	}
	t.Logf("%d deliveries took %v", n, loaded.took)
	each("gate")
	for _, bound := range []struct {
		what string
		got  float64
		most float64
	}{
		{"reads for each delivery", each("read"), mostReads},
		{"writes for each delivery", each("commit"), mostWrites},
		{"read units for each delivery", each("read units"), mostReadUnits},
		{"write units for each delivery", each("write units"), mostWriteUnits},
		{"seconds until the last delivery", loaded.took.Seconds(), rampUp.Seconds() + float64(n)/leastRate},
		{"times as long until the first attempt (p95)", ratio(t, "p95 of first attempts", p95(calm.first), p95(loaded.first)), 1.1},
		{"times as long until the second attempt (p95)", ratio(t, "p95 of second attempts", p95(calm.second), p95(loaded.second)), 1.1},
	} {
		if bound.got > bound.most {
			t.Errorf("%.2f %s, want at most %.2f", bound.got, bound.what, bound.most)
		}
	}
}

// TestBacklog_Same recovers a small backlog twice and compares all that happened.
func TestBacklog_Same(t *testing.T) {
	t.Parallel()
	var once, twice trace
	for _, happened := range []*trace{&once, &twice} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 1, nil)
			w.backlog(60, 2*time.Second)
			*happened = w.trace
		})
	}
	sameTrace(t, once, twice)
}

// TestBacklog_Limited recovers a backlog to an endpoint with a rate limit. It is used, and kept.
func TestBacklog_Limited(t *testing.T) {
	t.Parallel()
	const n, rate = 200, 20
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, nil)
		w.calm, w.plan.environments, w.latency = true, 100, callTakes
		w.deploy()
		w.companies = []string{busy}
		r := &receiver{company: busy, provider: "webhook", events: []string{"memory.*"}, requests: map[string][]*request{}, secret: secretOf(w.seed, busy, "webhook")}
		w.receivers[r.host()] = r
		config := map[string]any{"url": "https://" + r.host() + "/", "events": r.events, "rateLimit": rate}
		if err := w.configure(busy, r.provider, config, r.secret, integration.EventDeliver); err != nil {
			t.Fatal(err)
		}
		w.held(n)
		w.counts = map[string]int{}
		begun := time.Now()
		w.client("recovery", busy, func(ctx context.Context, cl client) error { return cl.recover(ctx, r.provider, "all") })()
		w.runFor(2 * n / rate * time.Second)
		var at []time.Duration
		for _, all := range r.requests {
			for _, one := range all {
				at = append(at, one.at.Sub(begun))
			}
		}
		slices.Sort(at)
		if len(at) != n {
			t.Fatalf("%d attempts of %d deliveries", len(at), n)
		}
		t.Logf("the last of %d deliveries arrived after %v; %d reads and %d writes", n, at[n-1], w.counts["retrier read"], w.counts["retrier commit"])
		if each := float64(w.counts["retrier commit"]) / n; each > 1.5 {
			t.Errorf("%.2f writes for each delivery, want at most 1.5", each)
		}
		if most := n / rate * 5 / 4 * time.Second; at[n-1] > most {
			t.Errorf("the last delivery arrived after %v, want at most %v", at[n-1], most)
		}
		for i := range at[:n-rate*6/5] {
			if at[i+rate*6/5]-at[i] < time.Second {
				t.Errorf("more than %d attempts in the second from %v", rate*6/5, at[i])
			}
		}
		w.end()
	})
}

// ratio compares a figure of the other companies in two runs. A call more is no difference.
func ratio(t *testing.T, what string, calm, loaded time.Duration) float64 {
	t.Helper()
	t.Logf("%s of the others: %v calm, %v under load", what, calm.Round(time.Millisecond), loaded.Round(time.Millisecond))
	return float64(loaded-callTakes) / float64(calm)
}

func p95(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)*95/100]
}

func mean(all []time.Duration) (sum time.Duration) {
	for _, one := range all {
		sum += one
	}
	return sum / time.Duration(len(all))
}

// crowd deploys a world without faults: a busy company, whose receiver has a mood, and quiet ones, each with an endpoint and a provider.
func (w *world) crowd(busyMood mood) {
	w.calm, w.plan.environments, w.latency = true, 100, callTakes
	w.deploy()
	w.companies = []string{busy}
	for i := range quiet {
		w.companies = append(w.companies, fmt.Sprintf("quiet-%02d", i))
	}
	for _, company := range w.companies {
		r := &receiver{company: company, provider: "webhook", events: []string{"memory.*"}, requests: map[string][]*request{}, mood: stumbling}
		if r.secret = secretOf(w.seed, company, r.provider); company == busy {
			r.mood = busyMood
		}
		w.receivers[r.host()] = r
		if err := w.subscribe(r); err != nil {
			w.t.Fatal(err)
		}
		if err := w.configure(company, inbound, map[string]any{}, "", integration.InboundReceive, integration.MemoryUpsert); err != nil {
			w.t.Fatal(err)
		}
	}
}

// backlog runs a world without faults for a time, in which a company recovers n deliveries.
func (w *world) backlog(n int, span time.Duration) (b backlogged) {
	w.crowd(slowly)
	w.held(n)
	w.runFor(time.Second)
	w.counts = map[string]int{}
	begun := time.Now()
	for i := range int(span / apart) {
		for j := range quiet {
			company := w.companies[1+j]
			name := fmt.Sprintf("%s %05d", company, i)
			at := begun.Add(time.Duration(i)*apart + time.Duration(j)*apart/quiet)
			w.schedule(at, name, w.client(name, company, w.remembers(name)))
		}
	}
	w.trace.lines = nil
	if n > 0 {
		w.client("recovery", busy, func(ctx context.Context, cl client) error { return cl.recover(ctx, "webhook", "all") })()
	}
	w.runFor(span)
	to := w.receivers["webhook."+busy+".test"]
	for waited := 0; len(to.requests) < n; waited++ {
		if w.runFor(time.Second); waited > 3600 {
			w.t.Fatalf("%d of %d deliveries arrived", len(to.requests), n)
		}
	}
	for _, all := range to.requests {
		b.took = max(b.took, all[0].at.Sub(begun))
	}
	w.runFor(3 * answerTakes)
	b.counts = w.counts
	b.first, b.second = w.waits()
	if w.end(); w.broken != "" {
		w.t.Fatalf("%s\n%s", w.broken, w.trace.tail(60))
	}
	return b
}

// remembers returns what a client does that gets one memory.
func (w *world) remembers(name string) func(context.Context, client) error {
	return func(ctx context.Context, cl client) error {
		return cl.receive(ctx, []connector.Action{{Port: integration.MemoryUpsert, Memory: &memory.Draft{ExternalID: name, Kind: "ticket", Title: name}}})
	}
}

// Sizes of a unit of capacity.
const (
	readUnit  = 4 << 10
	writeUnit = 1 << 10
)

// billRead counts the units of one strongly consistent read.
func (e *environment) billRead(items ...store.Item) {
	size := 0
	for _, item := range items {
		size += len(item.Key) + len(item.Body)
	}
	e.bill("read units", max((size+readUnit-1)/readUnit, 1))
}

// billWrite counts the units of a commit. DynamoDB bills a transaction twice, and a refused write too.
func (e *environment) billWrite(ops []store.Op) {
	units := 0
	for _, op := range ops {
		units += max((len(op.Key)+len(op.Body)+writeUnit-1)/writeUnit, 1)
	}
	if len(ops) > 1 {
		units *= 2
	}
	e.bill("write units", units)
}

func (e *environment) bill(kind string, units int) {
	if e.f != nil && e.w.counts != nil {
		e.w.counts[e.f.name+" "+kind] += units
	}
}

// runFor runs the world for a time.
func (w *world) runFor(d time.Duration) {
	end := time.Now().Add(d)
	for w.step(end, w.list) {
	}
	<-time.After(time.Until(end))
}

// held stores deliveries of the busy company that are held.
func (w *world) held(n int) {
	c := w.company(busy)
	now := time.Now().UTC()
	i, _, err := integration.Load(w.t.Context(), c, "webhook")
	if err != nil {
		w.t.Fatal(err)
	}
	for n := range n {
		e := event.Event{ID: id.At(now, fmt.Sprint(n)), Type: event.MemoryCreated, Timestamp: now, CompanyID: busy, Data: json.RawMessage(`{"title":"A"}`)}
		payload, err := e.Payload()
		if err != nil {
			w.t.Fatal(err)
		}
		d := delivery.Delivery{Head: delivery.Head{EventID: e.ID, Endpoint: "webhook", Incarnation: i.Incarnation, Event: e.Type, CreatedAt: now}, Payload: payload}
		d.Hold("disabled")
		if err := c.Commit(w.t.Context(), c.Create(delivery.Key(d.EventID, d.Endpoint), delivery.Entity, d).Quietly()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// waits returns how long the attempts of the quiet companies took: the first of each event from its time, the second from the first.
func (w *world) waits() (first, second []time.Duration) {
	for _, company := range w.companies[1:] {
		published := map[string]time.Time{}
		for _, item := range w.items(company, delivery.Prefix) {
			var d delivery.Delivery
			if err := item.Decode(&d); err != nil {
				w.t.Fatal(err)
			}
			published[d.EventID] = d.CreatedAt
		}
		for event, all := range w.receivers["webhook."+company+".test"].requests {
			first = append(first, all[0].at.Sub(published[event]))
			if len(all) > 1 {
				second = append(second, all[1].at.Sub(all[0].at))
			}
		}
	}
	return first, second
}
