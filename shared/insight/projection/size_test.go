package projection_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"orgops/shared/domain/arrival"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// TestFold_Size checks that the store accepts the largest context, with room to spare: the company has the maximum of
// everything and has deleted as many providers with a backlog.
func TestFold_Size(t *testing.T) {
	t.Parallel()
	raw, err := projection.Encode(large(t, integration.MaxPerCompany))
	errtest.Must(t, err)
	if most := store.MaxBody * 24 / 25; len(raw) > most {
		t.Errorf("context has %d bytes, want %d at most, 24/25 of the store's limit", len(raw), most)
	}
	t.Logf("%d bytes", len(raw))
}

// TestFold_SizeOfEnterprise checks the same of a company on the plan enterprise, and that what is stored can be read again.
func TestFold_SizeOfEnterprise(t *testing.T) {
	t.Parallel()
	for _, integrations := range []int{200, integration.MaxOfEnterprise} {
		p := large(t, integrations)
		plain, err := json.Marshal(p)
		errtest.Must(t, err)
		raw, err := projection.Encode(p)
		errtest.Must(t, err)
		if most := store.MaxBody * 2 / 3; len(raw) > most {
			t.Errorf("context of %d integrations has %d bytes, want %d at most, two thirds of the store's limit", integrations, len(raw), most)
		}
		t.Logf("%d integrations: %d bytes of JSON, %d stored", integrations, len(plain), len(raw))
		var read projection.Context
		errtest.Must(t, json.Unmarshal(raw, &read))
		again, err := json.Marshal(read)
		errtest.Must(t, err)
		if string(again) != string(plain) {
			t.Errorf("the context of %d integrations differs after it was stored and read", integrations)
		}
	}
}

// TestFold_SizeOfSources logs the size of the context of a company with many sources that sync, a webhook and 200 goals.
func TestFold_SizeOfSources(t *testing.T) {
	t.Parallel()
	for _, sources := range []int{200, 500} {
		h := newHistory()
		for n := range sources {
			h.put(integration.Entity, integration.Key(fmt.Sprint("github-", n)), webhook(h.now))
			remember(h, fmt.Sprint("github-", n), fmt.Sprint(n))
			h.after(time.Duration(n%7) * time.Second)
		}
		p, _, failed := projection.Fold(projection.Empty("acme"), h.changes)
		errtest.Must(t, failed.Err())
		plain, err := json.Marshal(p)
		errtest.Must(t, err)
		raw, err := projection.Encode(p)
		errtest.Must(t, err)
		if most := 150_000; len(raw) > most {
			t.Errorf("context of %d sources has %d bytes, want %d at most", sources, len(raw), most)
		}
		if got := len(p.Integrations); got != sources {
			t.Errorf("context has %d integrations, want %d", got, sources)
		}
		t.Logf("%d sources: %d bytes of JSON, %d stored", sources, len(plain), len(raw))
	}
}

// TestFold_SizeInUse checks the size of the context of a company with 1,000 integration-days (33 endpoints for 30 days, with
// deliveries of which every tenth fails and some wait), 200 goals and 10,000 memories.
func TestFold_SizeInUse(t *testing.T) {
	t.Parallel()
	h := newHistory()
	for n := range 33 {
		h.put(integration.Entity, integration.Key(fmt.Sprint("webhook-", n)), webhook(h.now))
	}
	for n := range 10_000 {
		remember(h, fmt.Sprint("webhook-", n%33), fmt.Sprint(n))
	}
	for n := range 200 {
		due := h.now.Add(time.Duration(n+1) * 12 * time.Hour)
		d := goal.Draft{ExternalID: fmt.Sprint(n), Title: fmt.Sprintf("Reach the goal of team %d in this half of the year", n), DueAt: &due, State: goal.Open}
		g, _ := goal.Apply(goal.Goal{}, "webhook-0", d, h.now)
		h.put(goal.Entity, goal.Key(g.ID), g)
	}
	for n := range 30 * 24 * 3 { // a delivery every 20 minutes
		h.after(20 * time.Minute)
		d := newDelivery(h.now, n, fmt.Sprint("webhook-", n%33))
		d.Log(delivery.Attempt{State: delivery.Delivered, At: h.now})
		d.End(delivery.Delivered)
		switch n % 40 {
		case 0:
			d.State = delivery.Dead
		case 10:
			d.State = delivery.Held
		case 20:
			d.State = delivery.Scheduled
		}
		h.deliver(d)
	}
	p, entries, failed := projection.Fold(projection.Empty("acme"), h.changes)
	errtest.Must(t, failed.Err())
	p.Timeline = entries[len(entries)-projection.MaxTimeline:]
	raw, err := json.Marshal(p)
	errtest.Must(t, err)
	t.Logf("%d bytes", len(raw))
	if most := 100_000; len(raw) > most {
		t.Errorf("context has %d bytes, want %d at most", len(raw), most)
	}
}

// large returns a context with the maximum of everything, and so many integrations.
func large(t testing.TB, integrations int) projection.Context {
	t.Helper()
	p, ports := projection.Empty("acme"), []integration.Port{"event.deliver", "memory.write", "goal.write", "timeline.write", "sync.pull"}
	now := noon().Add(123456789) // times that are not the start of a step have a fraction
	ended := now.Truncate(time.Millisecond)
	window := func(steps int, step time.Duration) projection.Window {
		w := projection.Window{Start: noon(), Seconds: int64(step / time.Second)}
		for range steps {
			w.Delivered, w.Failed = append(w.Delivered, 12345), append(w.Failed, 1234)
		}
		return w
	}
	failures, second := make([]time.Time, 10), now.Truncate(time.Second)
	successes := []time.Time{second, second, second}
	spells := make([]projection.Spell, 16)
	for n := range spells {
		spells[n] = projection.Spell{First: now.Truncate(time.Millisecond), Last: now.Truncate(time.Millisecond)}
	}
	taken := projection.Taken{now.UnixMilli()}
	for range arrival.Steps {
		taken = append(taken, 12345)
	}
	for n := range failures {
		failures[n] = now.Truncate(time.Millisecond)
	}
	tally := func(steps int, step time.Duration) (all projection.Tally) {
		for n := range steps {
			all = append(all, projection.Bucket{From: noon().Add(time.Duration(-n) * step), Count: 12345})
		}
		return all
	}
	p.Goals.Providers = map[string]projection.GoalCounts{}
	// vary returns another time for each provider, so that what is alike in all of them does not make the context small.
	vary := func(n int) time.Duration { return -time.Duration(uint64(n+1) * 2654435761 * 97 % (1 << 52)) }
	kept := 8 + int(delivery.Kept/(4*24*time.Hour)) + 1 // days, steps of four days, and the one about to expire
	for n := range integrations + 3*integration.MaxPerCompany {
		name := fmt.Sprintf("webhook-%0*d", 56, n) // 64 characters
		now, ended := now.Add(vary(n)), ended.Add(vary(n).Truncate(time.Millisecond))
		failures, spells := slices.Clone(failures), slices.Clone(spells)
		for i := range failures {
			failures[i] = ended.Add(vary(i).Truncate(time.Millisecond))
		}
		for i := range spells {
			spells[i] = projection.Spell{First: ended.Add(vary(i).Truncate(time.Millisecond)), Last: ended.Add(vary(n + i).Truncate(time.Millisecond))}
		}
		p.Deliveries.Endpoints[name] = projection.Endpoint{
			Hourly: window(25, time.Hour), Pending: 1234, Held: tally(kept, 24*time.Hour), Dead: tally(kept, 24*time.Hour),
		}
		counts := projection.GoalCounts{Open: 12345, Closed: 12345, Aligned: 12345, Drifting: 12345, Misaligned: 12345}
		p.Goals.Providers[name] = counts
		p.Memory.Bytes, p.Memory.Since = 1<<40, now
		p.Memory.Providers[name] = projection.ProviderMemory{Count: 123456, LastChangedAt: now, LastSyncedAt: now}
		p.Syncs[name] = projection.Sync{
			Run: strings.Repeat("i", 36), Mode: "live", State: "running", RunningSince: now, FinishedAt: ended, LastSucceededAt: ended, Successes: successes, Outcomes: []int64{-1e10, -1e10, -1e10, -1e10, -1e10, -1e10, -1e10, -1e10, -1e10, -1e10},
			Failures: failures, FailuresInRow: 10, FailingSince: ended, Error: strings.Repeat("e", 128),
		}
		p.Results[name] = projection.Result{LastSuccessAt: now, LastFailureAt: now, Failures: spells, Received: projection.Delay{Of: now.Truncate(time.Millisecond), MS: 1e12}, Sent: projection.Delay{Of: now.Truncate(time.Millisecond), MS: 1e12}, Taken: taken, Idle: projection.Idle{At: now.Truncate(time.Millisecond), Count: 123456, Why: strings.Repeat("w", 72)}}
		if n >= integrations {
			continue
		}
		p.Integrations[name] = projection.Integration{
			Kind: "webhook", State: "certified", Enabled: true, Ports: ports, CertifiedPorts: ports, CertifiedAt: now, CertifiedUntil: now,
			Title: strings.Repeat("t", 40), SandboxedAt: now, SandboxedCause: "configuration", SyncSeconds: 86400, SyncPausedAt: now, SecretAt: now, CredentialsAt: now, CredentialsEnd: noon(), Connected: true, CreatedAt: now, ChangedAt: now, LastSuccessAt: now, LastFailureAt: now, FailingSince: now,
		}
	}
	p.Deliveries.Daily = window(31, 24*time.Hour)
	p.Deliveries.Recent, p.Deliveries.Hourly, p.Deliveries.Pending = window(73, 5*time.Minute), window(73, time.Hour), tally(48+48+32, 5*time.Minute)
	p.Governance = projection.Governance{Policies: 100, PoliciesAt: now, Shadow: 100, ShadowAt: now, Waiting: tally(49, time.Hour), Unanswered: tally(31, 24*time.Hour)}
	text := strings.Repeat("t", 256)
	p.Goals.Explained, p.Goals.Work = map[string]time.Time{}, map[string]goal.Work{}
	for n := range projection.MaxGoals {
		p.Goals.Explained[fmt.Sprintf("%036d", n)] = now
		p.Goals.Work[fmt.Sprintf("%036d", n)] = goal.Work{Open: 1234, Blocked: 1234, Done: 1234, ChangedAt: now}
	}
	for n := range 10 {
		p.Executives[fmt.Sprintf("%036d", n)] = projection.Excess{Name: text[:100], QuotaPerDay: 1000, ExceededAt: now}
	}
	for range 10 {
		p.Company.Awaited = append(p.Company.Awaited, projection.Awaited{UserID: text[:36], At: now})
	}
	for range projection.MaxGoals {
		p.Goals.Listed = append(p.Goals.Listed, projection.Goal{ID: strings.Repeat("i", 36), Provider: text[:64], Title: text, Status: "misaligned", Since: now, DueAt: now, Reason: text[:72]})
	}
	for n := range 64 {
		p.Recommendations[fmt.Sprintf("%036d", n)] = recommendation.Standing{
			State: recommendation.Dismissed, Priority: recommendation.P2, At: now, By: text[:36], Until: now, Reopened: 12, Version: 123,
		}
	}
	for range projection.MaxTimeline {
		p.Timeline = append(p.Timeline, timeline.Entry{
			ID: strings.Repeat("i", 36), At: now, Kind: timeline.GoalAlignmentChanged, Title: text, Details: json.RawMessage(`"` + text + text + `"`),
			Actor: timeline.Reference{Type: "integration", ID: text[:64]}, Subject: timeline.Reference{Type: "note", ID: text + text}, EventID: text[:36],
		})
	}
	next, _, failed := projection.Fold(p, []store.Change{{
		Sequence: "1", Company: "acme", Entity: memory.Entity, Key: "MEMORY#1", At: now, New: &store.Image{Version: 1, Body: json.RawMessage(`{"provider":"feed"}`)},
	}})
	if err := failed.Err(); err != nil {
		t.Fatal(err)
	}
	return next
}
