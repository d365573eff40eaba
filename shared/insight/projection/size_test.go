package projection_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// TestFold_Size checks that the store accepts the largest context, with room to spare: the company has the maximum of
// everything and has deleted as many providers with a backlog.
func TestFold_Size(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(large(t))
	errtest.Must(t, err)
	if most := store.MaxBody * 9 / 10; len(raw) > most {
		t.Errorf("context has %d bytes, want %d at most, 9/10 of the store's limit", len(raw), most)
	}
	t.Logf("%d bytes", len(raw))
}

// large returns a context with the maximum of everything.
func large(t testing.TB) projection.Context {
	t.Helper()
	p, ports := projection.Empty("acme"), []integration.Port{"event.deliver", "memory.write", "goal.write", "timeline.write", "sync.pull"}
	now := noon().Add(123456789) // times that are not the start of a step have a fraction
	window := func(steps int, step time.Duration) projection.Window {
		w := projection.Window{Start: noon(), Seconds: int64(step / time.Second)}
		for range steps {
			w.Delivered, w.Failed = append(w.Delivered, 12345), append(w.Failed, 1234)
		}
		return w
	}
	failures := make([]time.Time, 10)
	spells := make([]projection.Spell, 16)
	for n := range spells {
		spells[n] = projection.Spell{First: now.Truncate(time.Millisecond), Last: now.Truncate(time.Millisecond)}
	}
	for n := range failures {
		failures[n] = now
	}
	tally := func(steps int, step time.Duration) (all projection.Tally) {
		for n := range steps {
			all = append(all, projection.Bucket{From: noon().Add(time.Duration(-n) * step), Count: 12345})
		}
		return all
	}
	kept := 8 + int(delivery.Kept/(4*24*time.Hour)) + 1 // days, steps of four days, and the one about to expire
	for n := range 4 * integration.MaxPerCompany {
		name := fmt.Sprintf("webhook-%0*d", 56, n) // 64 characters
		p.Deliveries.Endpoints[name] = projection.Endpoint{
			Hourly: window(25, time.Hour), Pending: 1234, Held: tally(kept, 24*time.Hour), Dead: tally(kept, 24*time.Hour),
		}
		p.Memory.Providers[name] = projection.ProviderMemory{Count: 123456, LastChangedAt: now, LastSyncedAt: now}
		p.Syncs[name] = projection.Sync{
			Run: strings.Repeat("i", 36), Mode: "live", State: "running", RunningSince: now, FinishedAt: now, LastSucceededAt: now,
			Failures: failures, FailuresInRow: 10, FailingSince: now, Error: strings.Repeat("e", 256),
		}
		p.Results[name] = projection.Result{LastSuccessAt: now, LastFailureAt: now, Failures: spells}
		if n >= integration.MaxPerCompany {
			continue
		}
		p.Integrations[name] = projection.Integration{
			Kind: "webhook", State: "certified", Enabled: true, Ports: ports, CertifiedPorts: ports, CertifiedAt: now, CertifiedUntil: now,
			SandboxedAt: now, SecretAt: now, CredentialsAt: now, CreatedAt: now, ChangedAt: now, LastSuccessAt: now, LastFailureAt: now, FailingSince: now,
		}
	}
	p.Deliveries.Recent, p.Deliveries.Hourly, p.Deliveries.Pending = window(73, 5*time.Minute), window(73, time.Hour), tally(48+48+32, 5*time.Minute)
	text := strings.Repeat("t", 256)
	for range projection.MaxGoals {
		p.Goals.Listed = append(p.Goals.Listed, projection.Goal{ID: strings.Repeat("i", 36), Title: text, Status: "misaligned", Since: now, DueAt: now, Reason: text})
	}
	for range projection.MaxTimeline {
		p.Timeline = append(p.Timeline, timeline.Entry{
			ID: strings.Repeat("i", 36), At: now, Kind: timeline.GoalAlignmentChanged, Title: text, Details: json.RawMessage(`"` + text + text + `"`),
			Actor: timeline.Reference{Type: "integration", ID: text[:64]}, Subject: timeline.Reference{Type: "note", ID: text + text}, EventID: text[:36],
		})
	}
	next, _, err := projection.Fold(p, []store.Change{{
		Sequence: "1", Company: "acme", Entity: memory.Entity, Key: "MEMORY#1", At: now, New: &store.Image{Version: 1, Body: json.RawMessage(`{"provider":"feed"}`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return next
}
