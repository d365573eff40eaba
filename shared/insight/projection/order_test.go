package projection_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	diffs "github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// company makes a random history of a company: connectors that come and go, memories, goals, syncs, notes and deliveries
// with their retries and recoveries, by workers whose clocks differ.
type company struct {
	*history
	r            *rand.Rand
	integrations map[string]*integration.Integration
	goals        map[string]goal.Goal
	deliveries   []*delivery.Delivery
	runs         map[string]*syncrun.StoredRun // the last of each provider
	asked        []approval.Approval
}

func randomHistory(seed uint64, steps int) *history {
	c := &company{
		history: newHistory(), r: rand.New(rand.NewPCG(seed, 3)), integrations: map[string]*integration.Integration{},
		goals: map[string]goal.Goal{}, runs: map[string]*syncrun.StoredRun{},
	}
	begin := c.now
	for n := range steps {
		begin = begin.Add(c.upTo(20 * time.Minute))
		if c.r.IntN(100) == 0 {
			begin = begin.Add(c.upTo(40 * 24 * time.Hour)) // a company may rest for weeks
		}
		c.now = begin.Add(c.upTo(6 * time.Second)).Truncate(time.Millisecond)
		c.step(n, []string{"webhook", "webhook-a", "feed"}[c.r.IntN(3)])
	}
	return c.history
}

func (c *company) upTo(d time.Duration) time.Duration { return time.Duration(c.r.Int64N(int64(d))) }

func (c *company) step(n int, provider string) {
	switch c.r.IntN(14) {
	case 13:
		c.put(arrival.ReceiptEntity, arrival.ReceiptPrefix(arrival.Owner{Provider: provider})+fmt.Sprint(n), struct{}{})
	case 0:
		c.edit(provider)
	case 12:
		c.govern(provider)
	case 1:
		c.note(n)
	case 2:
		c.pursue(provider)
	case 3, 4:
		c.remember(provider)
	case 5, 6:
		c.sync(n, provider)
	case 7, 8:
		d := newDelivery(c.now, n, provider)
		if c.r.IntN(2) == 0 {
			c.attempt(&d)
		}
		c.deliveries = append(c.deliveries, &d)
		c.deliver(d)
	case 9:
		c.decide(provider)
	default:
		if len(c.deliveries) == 0 {
			return
		}
		d := c.deliveries[max(len(c.deliveries)-1-c.r.IntN(8), 0)]
		if d.Open() {
			c.attempt(d)
		} else {
			d.Restart(c.now)
		}
		c.deliver(*d)
	}
}

// decide stores a decision about the recommendation of a provider.
func (c *company) decide(provider string) {
	s := recommendation.Stored{ID: provider, Rule: "certify-integration"}
	if c.r.IntN(2) == 0 {
		s = s.End(c.now)
	} else {
		s = s.Dismiss("u", "other", "not now, but later", c.now.Add(time.Hour), c.now)
	}
	c.put(recommendation.Entity, recommendation.Key(provider), s)
}

func (c *company) attempt(d *delivery.Delivery) {
	state := []delivery.State{delivery.Delivered, delivery.Failed}[c.r.IntN(2)]
	d.Log(delivery.Attempt{Number: d.Made + 1, State: state, At: c.now.Add(-c.upTo(10 * time.Second)), LatencyMS: c.r.Int64N(900)})
	if state == delivery.Delivered {
		d.End(state)
	} else if c.r.IntN(2) == 0 {
		d.End([]delivery.State{delivery.Dead, delivery.Held, delivery.Failed}[c.r.IntN(3)])
	}
}

// edit configures an integration, or changes one in each way that a user or the service does.
func (c *company) edit(provider string) {
	key := integration.Key(provider)
	i := c.integrations[provider]
	if i == nil {
		made := webhook(c.now)
		made.Provider = provider
		c.integrations[provider] = &made
		c.put(integration.Entity, key, made)
		return
	}
	i.UpdatedAt = c.now
	switch c.r.IntN(6) {
	case 0:
		delete(c.integrations, provider)
		c.remove(integration.Entity, key)
		return
	case 1:
		i.Enabled, i.Disabled = false, &integration.Disabled{Reason: integration.DisabledManually, At: c.now}
	case 2:
		i.Enabled, i.Disabled = true, nil
	case 3:
		certify(i, c.now)
	case 4:
		i.Config = json.RawMessage(fmt.Sprintf(`{"url":"https://%d"}`, c.r.IntN(9)))
		*i = i.Sandboxed("configuration", c.now)
	case 5:
		rotated := c.now
		i.SecretAt = &rotated
	}
	c.put(integration.Entity, key, *i)
}

// govern asks for an approval, ends one, or stores policies.
func (c *company) govern(provider string) {
	switch c.r.IntN(5) {
	case 0, 1:
		a := approval.New(policy.Decision{
			ID: id.At(c.now, provider), At: c.now.Add(-c.upTo(5 * time.Second)), Principal: timeline.Reference{Type: "integration", ID: provider},
		}, json.RawMessage(`{}`), "a title", timeline.Reference{})
		c.asked = append(c.asked, a)
		c.put(approval.Entity, approval.Key(a.ID), a)
	case 2, 3:
		if n := len(c.asked); n > 0 && c.asked[n-1].State == approval.Pending {
			state := []approval.State{approval.Approved, approval.Rejected, approval.Expired, approval.Expired}[c.r.IntN(4)]
			c.asked[n-1] = c.asked[n-1].End(state, approval.Answer{At: c.now})
			c.put(approval.Entity, approval.Key(c.asked[n-1].ID), c.asked[n-1])
		}
	case 4:
		c.put(policy.StoredEntity, policy.StoredKey, policy.Stored{Policies: make([]policy.Statement, c.r.IntN(4)), UpdatedAt: c.now})
	}
}

func (c *company) note(n int) {
	e := timeline.Entry{ID: id.At(c.now, fmt.Sprint(n)), At: c.now, Kind: timeline.Note, Title: fmt.Sprint("note ", n)}
	c.put(timeline.Entity, timeline.Key(e.ID), e)
}

func (c *company) pursue(provider string) {
	due := noon().Add(48 * time.Hour)
	draft := goal.Draft{ExternalID: fmt.Sprint(c.r.IntN(6)), Title: "T", Progress: float64(c.r.IntN(10)) / 10, DueAt: &due, State: goal.Open, UpdatedAt: c.said()}
	if c.r.IntN(4) == 0 {
		draft.State = goal.Closed
	}
	g, changed := goal.Apply(c.goals[provider+draft.ExternalID], provider, draft, c.now)
	if changed {
		c.goals[provider+draft.ExternalID] = g
		c.put(goal.Entity, goal.Key(g.ID), g)
	}
}

// said returns when a provider says that something changed: some time ago, or nothing. Its clock may be fast.
func (c *company) said() *time.Time {
	if c.r.IntN(3) == 0 {
		return nil
	}
	at := c.now.Add(time.Second - c.upTo(time.Hour))
	return &at
}

// remember stores or removes some memories in one transaction.
func (c *company) remember(provider string) {
	for range 1 + c.r.IntN(4) {
		key := memory.Key(fmt.Sprint(provider, c.r.IntN(20)))
		if c.items[key] != nil && c.r.IntN(3) == 0 {
			c.remove(memory.Entity, key)
			continue
		}
		m := memory.Memory{ID: key, Provider: provider, Title: fmt.Sprint(c.r.IntN(1000)), SourceUpdatedAt: c.said()}
		if c.r.IntN(2) == 0 {
			m.GoalID, m.Work = fmt.Sprint("goal-", c.r.IntN(4)), []memory.Work{memory.WorkOpen, memory.WorkDone, memory.WorkBlocked}[c.r.IntN(3)]
		}
		c.put(memory.Entity, key, m)
	}
}

// sync requests a run of a provider, or carries the run that is under way on.
func (c *company) sync(n int, provider string) {
	run := c.runs[provider]
	at := c.now
	switch {
	case run == nil || run.State.Ended():
		run = &syncrun.StoredRun{Run: syncrun.Run{
			ID: id.At(at, fmt.Sprint(n)), Provider: provider, Mode: []syncrun.Mode{syncrun.Live, syncrun.Sandbox}[c.r.IntN(8)/7], State: syncrun.Requested,
		}}
		c.runs[provider] = run
	case run.State == syncrun.Requested:
		run.State, run.StartedAt = syncrun.Running, &at
	default:
		run.State, run.FinishedAt = []syncrun.State{syncrun.Succeeded, syncrun.Failed, syncrun.Failed, syncrun.Cancelled}[c.r.IntN(4)], &at
		run.Error = fmt.Sprint("error ", n)
	}
	c.put(syncrun.Entity, syncrun.Key(run.ID), run)
}

// interleave returns the changes in a random order that keeps the order of each item's changes, with new numbers. A change
// moves by at most far places.
func interleave(r *rand.Rand, changes []store.Change, far int) []store.Change {
	type placed struct {
		store.Change
		place float64
	}
	all, last := make([]placed, len(changes)), map[string]float64{}
	for n, c := range changes {
		place := max(float64(n)+float64(far)*r.Float64(), last[c.Key])
		all[n], last[c.Key] = placed{c, place}, place
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
	mixed := make([]store.Change, len(all))
	for n, p := range all {
		mixed[n] = p.Change
		mixed[n].Sequence = store.Sequence(fmt.Sprint(n + 1))
	}
	return mixed
}

// foldCut folds changes in random batches. Some come again from a random change on.
func foldCut(t *testing.T, r *rand.Rand, changes []store.Change) (projection.Context, []timeline.Entry) {
	t.Helper()
	p, entries := projection.Empty("acme"), []timeline.Entry(nil)
	for from := 0; from < len(changes); {
		to := min(from+1+r.IntN(40), len(changes))
		next, more, failed := projection.Fold(p, changes[max(from-r.IntN(30), 0):to])
		errtest.Must(t, failed.Err())
		p, entries, from = again(t, next), append(entries, more...), to
	}
	return p, entries
}

// again returns a context as it is stored and read.
func again(t *testing.T, p projection.Context) (read projection.Context) {
	t.Helper()
	errtest.Must(t, json.Unmarshal([]byte(encode(t, p)), &read))
	return read
}

// wantFold compares a context and its entries, in any order, with those of the order of the commits.
func wantFold(t *testing.T, what string, want projection.Context, wantEntries []timeline.Entry, got projection.Context, entries []timeline.Entry) {
	t.Helper()
	if diff := diffs.Diff(encode(t, want), encode(t, got)); diff != "" {
		t.Fatalf("%s: context (-want +got):\n%s", what, diff)
	}
	if diff := diffs.Diff(byID(wantEntries), byID(entries)); diff != "" {
		t.Fatalf("%s: entries (-want +got):\n%s", what, diff)
	}
}

// TestFold_AnyOrder folds random histories in every order that a store may pass them on: it keeps the order of each item's
// changes. However they are cut and redelivered, the context and the entries are those of the order of the commits.
func TestFold_AnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := randomHistory(seed, 300)
			want, wantEntries := h.fold(t)
			r := rand.New(rand.NewPCG(seed, 4))
			for _, far := range []int{2, 20, 1000} {
				got, entries := foldCut(t, r, interleave(r, h.changes, far))
				got.Applied = want.Applied
				wantFold(t, fmt.Sprintf("changes up to %d places off", far), want, wantEntries, got, entries)
			}
		})
	}
}

func byID(entries []timeline.Entry) []timeline.Entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b timeline.Entry) int { return strings.Compare(a.ID, b.ID) })
}

// records returns the items that a history has left, in no particular order.
func (h *history) records() []store.Item {
	items := map[string]store.Item{}
	for _, c := range h.changes {
		delete(items, c.Key)
		if c.New != nil {
			items[c.Key] = store.Item{Key: c.Key, Entity: c.Entity, Version: c.New.Version, At: c.At, Body: c.New.Body}
		}
	}
	return slices.Collect(maps.Values(items))
}

// TestRebuild compares contexts that are rebuilt from the records with contexts folded from the changes.
func TestRebuild(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := randomHistory(seed, 300)
			want, _ := h.fold(t)
			got, failed := projection.Rebuild(want, h.records())
			errtest.Must(t, failed.Err())
			want.ContextVersion++
			if diff := diffs.Diff(encode(t, want), encode(t, again(t, got))); diff != "" {
				t.Fatalf("of a right context (-want +got):\n%s", diff)
			}
			// A context that lost every fifth change is right again, but for the times that no record holds.
			lossy := projection.Empty("acme")
			for n, c := range h.changes {
				if n%5 != 0 || n == len(h.changes)-1 {
					lossy, _, failed = projection.Fold(lossy, []store.Change{c})
					errtest.Must(t, failed.Err())
				}
			}
			got, failed = projection.Rebuild(lossy, h.records())
			errtest.Must(t, failed.Err())
			if diff := diffs.Diff(encode(t, recorded(want)), encode(t, recorded(again(t, got)))); diff != "" {
				t.Fatalf("of a context that lost changes (-want +got):\n%s", diff)
			}
		})
	}
}

// recorded returns a context without what the records do not hold.
func recorded(p projection.Context) projection.Context {
	p.ContextVersion, p.Applied, p.UpdatedAt, p.Memory.LastChangedAt, p.Sizes = 0, "", time.Time{}, time.Time{}, nil
	for name, m := range p.Memory.Providers {
		m.LastChangedAt = time.Time{}
		p.Memory.Providers[name] = m
		if m == (projection.ProviderMemory{}) {
			delete(p.Memory.Providers, name)
		}
	}
	for name, i := range p.Integrations {
		i.ChangedAt, i.SandboxedAt, i.FailingSince = time.Time{}, time.Time{}, time.Time{}
		if i.SandboxedCause != "" {
			i.CertifiedPorts = nil
		}
		p.Integrations[name] = i
	}
	for name, r := range p.Results {
		r.Received = projection.Delay{} // a record is written again for another reason, such as the review of a goal
		p.Results[name] = r
		if r.LastSuccessAt.IsZero() && r.LastFailureAt.IsZero() {
			delete(p.Results, name)
		}
	}
	for _, listed := range [][]projection.Goal{p.Goals.Listed, p.Goals.Former} {
		for n := range listed {
			listed[n].Since = time.Time{}
		}
	}
	for name, w := range p.Goals.Work {
		if w.ChangedAt = (time.Time{}); w == (goal.Work{}) { // its memories are gone
			delete(p.Goals.Work, name)
			continue
		}
		p.Goals.Work[name] = w
	}
	return p
}

// TestRebuild_Damaged rebuilds from a record that cannot be decoded and a sound record.
func TestRebuild_Damaged(t *testing.T) {
	t.Parallel()
	got, failed := projection.Rebuild(projection.Empty("acme"), []store.Item{
		{Key: "MEMORY#1", Entity: memory.Entity, At: noon(), Body: json.RawMessage(`7`)},
		{Key: "MEMORY#2", Entity: memory.Entity, At: noon(), Body: json.RawMessage(`{"provider":"feed"}`)},
	})
	if message := errtest.Message(failed.Err()); !strings.Contains(message, "MEMORY#1") {
		t.Errorf("error %q, want one that names MEMORY#1", message)
	}
	if got.Memory.Total != 1 {
		t.Errorf("total = %d memories, want 1", got.Memory.Total)
	}
}
