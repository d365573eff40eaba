package simulate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/syncrun"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
)

// These shape the test of a noisy company.
const (
	louder    = 100             // times the load of another company
	noiseSpan = 4 * time.Second // of the events; the timers are due at its end
	sources   = 50              // that are synced at once
	slack     = 1.2             // times as long as without the noise
	cuts      = 15              // splits of the table
)

// heard holds the delays of the quiet companies in one run.
type heard struct {
	first, second []time.Duration // from an event to its attempt, from the first attempt to the next
	folded        []time.Duration // from a change to the context that has it
	timers        []time.Duration // from the time of a timer to its end

	written map[string][]time.Time // by company, the memories that no context has
	steps   map[string][]time.Time // by event: the commit of its change, the read of the stream, the invocation, the attempt
}

// follow notes when the change of a quiet company is read from the stream, and when the dispatcher gets it.
func (h *heard) follow(m *mapping, r dynamostore.Record) {
	c, ok, err := r.Change()
	if err != nil || !ok || c.Company == busy || c.Entity != memory.Entity || m.f.name != "dispatcher" {
		return
	}
	events, err := event.Of(c)
	if err != nil {
		m.w.t.Error(err)
	}
	for _, e := range events {
		if h.steps[e.ID] == nil {
			h.steps[e.ID] = []time.Time{c.At}
		}
		h.steps[e.ID] = append(h.steps[e.ID], time.Now())
	}
}

// parts tells of what the delay of a first attempt consists, on average.
func (h *heard) parts() string {
	var sums [3]time.Duration
	for _, at := range h.steps {
		for i := range sums {
			sums[i] += at[i+1].Sub(at[i]) / time.Duration(len(h.steps))
		}
	}
	return fmt.Sprintf("%v until the stream is read, %v for a lane, %v of work",
		sums[0].Round(time.Millisecond), sums[1].Round(time.Millisecond), sums[2].Round(time.Millisecond))
}

// TestNoise lets one company receive a hundred times as many webhooks as each of the others, and set as many timers, or sync 50 sources at
// once. The others wait at most a fifth longer for first attempts, retries, contexts and timers: in a table with one shard, and in a
// table that was split.
func TestNoise(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                   string
		times, sources, splits int
	}{
		{"OneShard", louder, 0, 0},
		{"Split", louder, 0, cuts},
		{"Sources", 1, sources, 0},
		{"Sources_Split", 1, sources, cuts},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var calm, loud heard
			synctest.Test(t, func(t *testing.T) { calm = newWorld(t, 1, nil).noise(1, 0, tt.splits) })
			synctest.Test(t, func(t *testing.T) { loud = newWorld(t, 1, nil).noise(tt.times, tt.sources, tt.splits) })
			t.Logf("a first attempt in the calm: %v; with the noise: %v", calm.parts(), loud.parts())
			for _, delay := range []struct {
				what       string
				calm, loud []time.Duration
			}{
				{"first attempts", calm.first, loud.first},
				{"second attempts", calm.second, loud.second},
				{"contexts", calm.folded, loud.folded},
				{"timers", calm.timers, loud.timers},
			} {
				if got, want := len(delay.loud), len(delay.calm); got != want {
					t.Errorf("%d %s of the others with the noise, want %d as in the calm", got, delay.what, want)
				}
				got := max(ratio(t, "mean of "+delay.what, mean(delay.calm), mean(delay.loud)), ratio(t, "p95 of "+delay.what, p95(delay.calm), p95(delay.loud)))
				if got > slack {
					t.Errorf("%s of the others take %.2f times as long, want at most %.1f times", delay.what, got, slack)
				}
			}
		})
	}
}

// noise runs a world without faults, in which a company has some times the load of each other one, and sources that are synced at once.
func (w *world) noise(times, sources, splits int) (h heard) {
	w.crowd(stumbling)
	for n := range sources {
		if err := w.configure(busy, sourceOf(n), map[string]any{"company": busy}, "", integration.SyncPull, integration.MemoryUpsert); err != nil {
			w.t.Fatal(err)
		}
	}
	w.runFor(time.Second)
	begun := time.Now()
	for range splits {
		w.split()
	}
	h.written, h.steps = map[string][]time.Time{}, map[string][]time.Time{}
	w.committed = func(e *environment, ops []store.Op) { h.hear(w, e, ops) }
	w.followed = h.follow
	for n, company := range w.companies {
		events, apart := int(noiseSpan/apart), apart
		if company == busy {
			events, apart = events*times, apart/time.Duration(times)
		}
		for i := range events {
			name := fmt.Sprintf("%s %05d", company, i)
			at := begun.Add(time.Duration(i)*apart + time.Duration(n)*apart/time.Duration(len(w.companies)))
			w.schedule(at, name, w.client(name, company, w.remembers(name)))
		}
		w.remind(company, events, begun.Add(noiseSpan))
	}
	runs := make([]string, sources)
	for n := range runs {
		runs[n] = id.At(begun, busy, sourceOf(n))
		w.schedule(begun.Add(noiseSpan/4), sourceOf(n), w.client(sourceOf(n), busy, syncs(sourceOf(n), runs[n])))
	}
	w.trace.lines = nil
	w.runFor(90 * time.Second)
	for _, run := range runs {
		var stored syncrun.StoredRun
		if _, err := w.company(busy).Get(w.t.Context(), syncrun.Key(run), &stored); err != nil {
			w.t.Fatal(err)
		}
		if stored.State != syncrun.Succeeded {
			w.t.Errorf("run %s is %s, want %s", run, stored.State, syncrun.Succeeded)
		}
	}
	h.first, h.second = w.waits()
	for _, company := range w.companies[1:] {
		for event, all := range w.receivers["webhook."+company+".test"].requests {
			h.steps[event] = append(h.steps[event], all[0].at)
		}
	}
	if w.end(); w.broken != "" {
		w.t.Fatalf("%s\n%s", w.broken, w.trace.tail(60))
	}
	return h
}

func sourceOf(n int) string { return fmt.Sprintf("%s-%02d", feed, n) }

// syncs returns what a client does to sync a source for the first time.
func syncs(provider, run string) func(context.Context, client) error {
	return func(ctx context.Context, cl client) error {
		i, _, err := integration.Load(ctx, cl.c, provider)
		if err != nil {
			return err
		}
		begun := syncrun.Run{ID: run, Provider: provider, Mode: syncrun.Live, State: syncrun.Requested, RequestedAt: time.Now().UTC()}
		return cl.c.Commit(ctx, syncrun.Begin(cl.c, syncrun.StoredRun{Run: begun, Incarnation: i.Incarnation}, syncrun.Slot{}, 0)...)
	}
}

// remind sets timers without an effect.
func (w *world) remind(company string, n int, at time.Time) {
	c := w.company(company)
	for i := range n {
		if err := c.Commit(w.t.Context(), c.Timer(at.Add(time.Duration(i)*noiseSpan/time.Duration(n)), integration.ExpiryTimer, fmt.Sprintf("gone-%d@1", i))); err != nil {
			w.t.Fatal(err)
		}
	}
}

// hear notes what a commit begins or ends for a quiet company: a memory, its context, a timer.
func (h *heard) hear(w *world, e *environment, ops []store.Op) {
	for _, op := range ops {
		company, own := op.Partition.CompanyID()
		switch {
		case !own || company == busy:
		case op.Entity == memory.Entity:
			h.written[company] = append(h.written[company], time.Now())
		case op.Key == projection.Key:
			var p projection.Context
			if err := (store.Item{Body: op.Body}).Decode(&p); err != nil {
				w.t.Error(err)
			}
			for len(h.written[company]) > 0 && !h.written[company][0].After(p.UpdatedAt) {
				h.folded = append(h.folded, time.Since(h.written[company][0]))
				h.written[company] = h.written[company][1:]
			}
		}
		if e.f == w.ticker && op.Action == store.Delete && strings.Contains(op.Key, "#quiet-") {
			due, err := time.Parse(time.RFC3339, strings.SplitN(op.Key, "#", 2)[0])
			if err != nil {
				w.t.Error(err)
			}
			h.timers = append(h.timers, time.Since(due))
		}
	}
}
