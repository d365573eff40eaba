package projection_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/base/id"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

func noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// history makes changes like a store: items with versions, in order, with old and new images.
type history struct {
	now     time.Time
	items   map[string]*store.Image
	changes []store.Change
}

func newHistory() *history { return &history{now: noon(), items: map[string]*store.Image{}} }

func (h *history) after(d time.Duration) *history { h.now = h.now.Add(d); return h }

func (h *history) put(entity, key string, body any) store.Change {
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	is := &store.Image{Version: 1, Body: raw}
	if was := h.items[key]; was != nil {
		is.Version = was.Version + 1
	}
	return h.change(entity, key, is)
}

func (h *history) remove(entity, key string) store.Change { return h.change(entity, key, nil) }

func (h *history) change(entity, key string, is *store.Image) store.Change {
	c := store.Change{
		Sequence: store.Sequence(fmt.Sprint(len(h.changes) + 1)), Company: "acme", Key: key, Entity: entity, At: h.now,
		Old: h.items[key], New: is,
	}
	h.items[key] = is
	h.changes = append(h.changes, c)
	return c
}

func (h *history) deliver(d delivery.Delivery) store.Change {
	return h.put(delivery.Entity, delivery.Key(d.EventID, d.Endpoint), d)
}

func (h *history) fold(t *testing.T) (projection.Context, []timeline.Entry) {
	t.Helper()
	p, entries, failed := projection.Fold(projection.Empty("acme"), h.changes)
	if err := failed.Err(); err != nil {
		t.Fatal(err)
	}
	return p, entries
}

func newDelivery(at time.Time, n int, endpoint string) delivery.Delivery {
	return delivery.Delivery{
		Head: delivery.Head{
			EventID: id.At(at, fmt.Sprint(n)), Endpoint: endpoint, Event: event.MemoryCreated, State: delivery.Scheduled, Generation: 1, CreatedAt: at,
		},
		Payload: json.RawMessage(`{"state":"a trap","text":"\"made\": 7 }{"}`),
	}
}

func webhook(now time.Time) integration.Integration {
	return integration.Integration{
		Provider: "webhook", Kind: "webhook", State: integration.Sandbox, Enabled: true, Config: json.RawMessage(`{"url":"https://a"}`),
		Permissions: []integration.Port{integration.EventDeliver}, SecretAt: &now, ConfiguredBy: "u1", CreatedAt: now, UpdatedAt: now,
	}
}

func TestFold_Deliveries(t *testing.T) {
	t.Parallel()
	h := newHistory()
	h.put(integration.Entity, "INTEGRATION#webhook", webhook(h.now))
	d := newDelivery(h.now, 1, "webhook")
	h.deliver(d)
	p, _ := h.fold(t)
	if from, _ := p.Deliveries.Pending.Oldest(); !from.Equal(noon()) {
		t.Errorf("pending since %v, want %v", from, noon())
	}

	h.after(time.Minute)
	d.Log(delivery.Attempt{State: delivery.Failed, At: h.now})
	h.deliver(d)
	p, _ = h.fold(t)
	if got := p.Deliveries.Recent.Since(noon()); got != (projection.Counts{Failed: 1}) {
		t.Errorf("attempts = %+v, want one failed", got)
	}
	if got := p.Integrations["webhook"].FailingSince; !got.Equal(h.now) {
		t.Errorf("failing since %v, want %v", got, h.now)
	}

	h.after(time.Hour)
	d.Log(delivery.Attempt{State: delivery.Failed, At: h.now})
	d.End(delivery.Dead)
	h.deliver(d)
	p, _ = h.fold(t)
	if got, want := waiting(p), (counts{Dead: 1}); got != want {
		t.Errorf("after the last attempt = %+v, want %+v", got, want)
	}
	if got := p.Deliveries.Pending; len(got) != 0 {
		t.Errorf("pending after the last attempt = %+v, want none", got)
	}

	d.Restart(h.now)
	h.deliver(d)
	h.after(time.Second)
	d.Log(delivery.Attempt{State: delivery.Delivered, At: h.now})
	d.End(delivery.Delivered)
	h.deliver(d)
	p, _ = h.fold(t)
	if got := waiting(p); got != (counts{}) {
		t.Errorf("after the replay = %+v, want none", got)
	}
	if got := p.Integrations["webhook"].FailingSince; !got.IsZero() {
		t.Errorf("failing since %v after the replay, want never", got)
	}
	if got := p.Deliveries.Hourly.Since(noon()); got != (projection.Counts{Delivered: 1, Failed: 2}) {
		t.Errorf("attempts = %+v, want 1 delivered, 2 failed", got)
	}
	if got := p.Deliveries.Recent.Since(h.now.Add(-30 * time.Minute)); got != (projection.Counts{Delivered: 1, Failed: 1}) {
		t.Errorf("attempts of the last half hour = %+v, want one of each", got)
	}
}

// counts holds the numbers of an endpoint's deliveries that have not arrived.
type counts struct{ Pending, Held, Dead int }

func waiting(p projection.Context) counts {
	e := p.Deliveries.Endpoints["webhook"]
	return counts{e.Pending, e.Held.Total(), e.Dead.Total()}
}

func TestFold_Held(t *testing.T) {
	t.Parallel()
	h := newHistory()
	h.put(integration.Entity, "INTEGRATION#webhook", webhook(h.now))
	held := newDelivery(h.now, 1, "webhook")
	held.End(delivery.Held)
	h.deliver(held)
	other := newDelivery(h.now, 2, "webhook")
	other.End(delivery.Held)
	key := delivery.Key(other.EventID, "webhook")
	h.deliver(other)
	p, _ := h.fold(t)
	if got, want := waiting(p), (counts{Held: 2}); got != want {
		t.Fatalf("before the recovery = %+v, want %+v", got, want)
	}
	h.remove(delivery.Entity, key)
	held.Restart(h.now)
	h.deliver(held)
	p, _ = h.fold(t)
	if got, want := waiting(p), (counts{Pending: 1}); got != want {
		t.Errorf("after removal and recovery = %+v, want %+v", got, want)
	}

	// A delivery that expires without a change is dropped too.
	h.after(32*24*time.Hour).put(memory.Entity, "MEMORY#1", memory.Memory{ID: "1", Provider: "feed"})
	p, _ = h.fold(t)
	if len(p.Deliveries.Pending) != 0 {
		t.Errorf("pending after a month = %+v, want none", p.Deliveries.Pending)
	}
}

func TestFold_Integration(t *testing.T) {
	t.Parallel()
	h := newHistory()
	i := webhook(h.now)
	h.put(integration.Entity, "INTEGRATION#webhook", i)
	h.after(time.Minute)
	i.State = integration.Certified
	i.Certification = &integration.Certification{PassedAt: h.now, ExpiresAt: h.now.Add(integration.CertifiedFor), Ports: i.Permissions}
	h.put(integration.Entity, "INTEGRATION#webhook", i)
	p, _ := h.fold(t)
	for port, want := range map[integration.Port]bool{integration.EventDeliver: true, integration.SyncPull: false} {
		if got := p.Integrations["webhook"].Allows(h.now, port); got != want {
			t.Errorf("certified: Allows(%s) = %t, want %t", port, got, want)
		}
	}
	i.Config = json.RawMessage(`{"url":"https://b"}`)
	i = i.Sandboxed("configuration", h.now)
	i.Enabled, i.Disabled = false, &integration.Disabled{Reason: integration.DisabledGone, At: h.now}
	h.put(integration.Entity, "INTEGRATION#webhook", i)
	p, entries := h.fold(t)
	want := []string{
		"integration.configured webhook was configured",
		"integration.certified webhook was certified until 2026-05-31",
		"integration.configured webhook was reconfigured",
		"integration.sandboxed webhook returned to the sandbox: its configuration changed",
		"integration.disabled webhook was disabled: its endpoint answered 410 Gone",
	}
	if diff := cmp.Diff(want, titles(entries)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	wantDisabled := projection.Integration{
		Kind: "webhook", State: integration.Sandbox, DisabledReason: "gone", DisabledAt: h.now, SandboxedAt: h.now, SandboxedCause: "configuration", SecretAt: noon(), CertifiedPorts: i.Permissions,
		Ports: i.Permissions, CreatedAt: noon(), ChangedAt: h.now,
	}
	if diff := cmp.Diff(wantDisabled, p.Integrations["webhook"]); diff != "" {
		t.Errorf("disabled integration differs (-want +got):\n%s", diff)
	}
	h.remove(integration.Entity, "INTEGRATION#webhook")
	if p, _ = h.fold(t); len(p.Integrations) != 0 {
		t.Errorf("integrations after the removal = %+v, want none", p.Integrations)
	}
}

// TestFold_Integration_Clock certifies an integration in a process whose clock is behind. Its records give the same context.
func TestFold_Integration_Clock(t *testing.T) {
	t.Parallel()
	h := newHistory()
	i := webhook(h.now)
	h.put(integration.Entity, integration.Key("webhook"), i)
	h.after(-time.Second)
	certify(&i, h.now)
	h.put(integration.Entity, integration.Key("webhook"), i)
	was, _ := h.fold(t)
	if got := was.Integrations["webhook"].ChangedAt; !got.Equal(i.CreatedAt) {
		t.Errorf("changed at %v, want %v", got, i.CreatedAt)
	}
	got, failed := projection.Rebuild(was, h.records())
	errtest.Must(t, failed.Err())
	if diff := cmp.Diff(was.Integrations, got.Integrations); diff != "" {
		t.Errorf("rebuilt integrations differ (-want +got):\n%s", diff)
	}
}

// TestFold_CredentialsEnded says which credentials a reconfiguration has ended. Credentials that a user deletes have no entry.
func TestFold_CredentialsEnded(t *testing.T) {
	t.Parallel()
	h := newHistory()
	i := integration.Integration{
		Provider: "http", Kind: "http", State: integration.Sandbox, Enabled: true, CreatedAt: h.now, Config: json.RawMessage(`{"url":"https://a"}`),
		Credentials: &integration.CredentialNames{Names: []string{"token"}, UpdatedAt: h.now},
	}
	h.put(integration.Entity, "INTEGRATION#http", i)
	stored := i
	i.Config, i.Credentials = json.RawMessage(`{"url":"https://b"}`), nil
	h.put(integration.Entity, "INTEGRATION#http", i)
	h.put(integration.Entity, "INTEGRATION#http", stored)
	i = stored
	i.Credentials = nil
	h.put(integration.Entity, "INTEGRATION#http", i)
	_, entries := h.fold(t)
	want := []string{
		"integration.configured http was configured",
		"integration.configured http was reconfigured; its credentials ended, because they were stored for another address",
		"integration.configured http was reconfigured",
	}
	if diff := cmp.Diff(want, titles(entries)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// TestFold_Connection tells who connected an integration, and that the provider has ended the access. A refresh has no entry.
func TestFold_Connection(t *testing.T) {
	t.Parallel()
	h := newHistory()
	i := integration.Integration{Provider: "gitlab", Kind: "gitlab", State: integration.Sandbox, Enabled: true, CreatedAt: h.now, Config: json.RawMessage(`{}`)}
	h.put(integration.Entity, "INTEGRATION#gitlab", i)
	i = i.Connect(integration.Connection{ID: "1", By: "u", At: h.now}, time.Time{})
	h.put(integration.Entity, "INTEGRATION#gitlab", i)
	i.UpdatedAt = h.now.Add(time.Second)
	h.put(integration.Entity, "INTEGRATION#gitlab", i)
	h.put(integration.Entity, "INTEGRATION#gitlab", i.Lost(h.now))
	p, entries := h.fold(t)
	want := []string{
		"integration.configured gitlab was configured",
		"access.given gitlab was connected at its provider",
		"access.ended the provider of gitlab has ended the access; connect it again",
	}
	if diff := cmp.Diff(want, titles(entries)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if got, want := p.Integrations["gitlab"].CredentialsEnd, h.now.Truncate(time.Second); !got.Equal(want) {
		t.Errorf("credentials end at %v, want %v", got, want)
	}
}

// TestFold_ClosedPort shows that a source may no longer sync, and keeps what its certification had proven.
func TestFold_ClosedPort(t *testing.T) {
	t.Parallel()
	h := newHistory()
	ports := []integration.Port{integration.SyncPull, integration.InboundReceive}
	i := integration.Integration{
		Provider: "github", Kind: "github", State: integration.Certified, Enabled: true, Permissions: ports, CreatedAt: h.now,
		Certification: &integration.Certification{PassedAt: h.now, ExpiresAt: h.now.Add(integration.CertifiedFor), Ports: ports},
	}
	h.put(integration.Entity, "INTEGRATION#github", i)
	h.after(5 * 24 * time.Hour)
	i = i.Demoted(h.now)
	h.put(integration.Entity, "INTEGRATION#github", i)
	h.after(time.Hour)
	i.Suspended = true // a later change
	h.put(integration.Entity, "INTEGRATION#github", i)
	p, entries := h.fold(t)
	want := []string{
		"integration.configured github was configured",
		"integration.certified github was certified until 2026-05-31",
		"integration.sandboxed github may no longer sync: it kept failing for five days",
	}
	if diff := cmp.Diff(want, titles(entries)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	got := p.Integrations["github"]
	if got.Allows(h.now, integration.SyncPull) {
		t.Error("the source may sync, want the port closed")
	}
	if !got.Allows(h.now, integration.InboundReceive) {
		t.Error("the port to receive is closed, want it open")
	}
	if !got.Proved(integration.SyncPull) {
		t.Error("the source counts as one that never synced, so health would hide its failures")
	}
}

// TestFold_Order checks that the entries of one change are listed in the order of timeline.Kinds, the last as the newest.
func TestFold_Order(t *testing.T) {
	t.Parallel()
	for n := range 20 { // each goal gives its entries other id bits
		h := newHistory()
		draft := goal.Draft{ExternalID: fmt.Sprint("m", n), Title: "Ship", State: goal.Open, StartedAt: new(h.now.AddDate(-1, 0, 0))}
		g, _ := goal.Apply(goal.Goal{}, "github", draft, h.now)
		h.put(goal.Entity, goal.Key(g.ID), g)
		h.after(time.Hour)
		draft.DueAt = new(h.now.Add(-time.Minute))
		g, _ = goal.Apply(g, "github", draft, h.now)
		h.put(goal.Entity, goal.Key(g.ID), g)
		_, entries := h.fold(t)
		var kinds []timeline.Kind
		slices.SortFunc(entries, func(a, b timeline.Entry) int { return strings.Compare(b.ID, a.ID) })
		for _, e := range entries {
			kinds = append(kinds, e.Kind)
		}
		if diff := cmp.Diff([]timeline.Kind{timeline.GoalAlignmentChanged, timeline.GoalUpdated, timeline.GoalUpdated}, kinds); diff != "" {
			t.Fatalf("newest first (-want +got):\n%s", diff)
		}
	}
}

func TestFold_Goals(t *testing.T) {
	t.Parallel()
	h := newHistory()
	due := noon().Add(10 * 24 * time.Hour)
	g, _ := goal.Apply(goal.Goal{}, "webhook", goal.Draft{ExternalID: "m1", Title: "Ship", DueAt: &due, State: goal.Open}, h.now)
	h.put(integration.Entity, integration.Key("webhook"), webhook(h.now))
	created := h.put(goal.Entity, goal.Key(g.ID), g)
	h.after(9 * 24 * time.Hour)
	g, _ = goal.Review(g, "", h.now)
	reviewed := h.put(goal.Entity, goal.Key(g.ID), g)
	p, entries := h.fold(t)
	if diff := cmp.Diff([]string{
		"integration.configured webhook was configured", `goal.updated "Ship" became a goal, 0 % done`, `goal.alignment.changed "Ship" is misaligned now`,
	}, titles(entries)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	wantIDs := []string{event.ID(created, event.GoalUpdated), event.ID(reviewed, event.GoalAlignmentChanged)}
	if diff := cmp.Diff(wantIDs, []string{entries[1].EventID, entries[2].EventID}); diff != "" {
		t.Errorf("event ids (-want +got):\n%s", diff)
	}
	counts := projection.GoalCounts{Open: 1, Misaligned: 1}
	wantGoals := projection.Goals{GoalCounts: counts, Total: 1, Providers: map[string]projection.GoalCounts{"webhook": counts}, Listed: []projection.Goal{
		{ID: g.ID, Provider: "webhook", Title: "Ship", Status: goal.Misaligned, Since: h.now, DueAt: due, Reason: g.Alignment.Reasons[0]},
	}}
	if diff := cmp.Diff(wantGoals, p.Goals); diff != "" {
		t.Errorf("goals (-want +got):\n%s", diff)
	}
	g, _ = goal.Apply(g, "webhook", goal.Draft{ExternalID: "m1", Title: "Ship", DueAt: &due, State: goal.Closed, Progress: 1}, h.now)
	h.put(goal.Entity, goal.Key(g.ID), g)
	p, entries = h.fold(t)
	counts = projection.GoalCounts{Closed: 1}
	wantGoals = projection.Goals{GoalCounts: counts, Total: 1, Providers: map[string]projection.GoalCounts{"webhook": counts}, Listed: []projection.Goal{}}
	if diff := cmp.Diff(wantGoals, p.Goals, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("goals after closing (-want +got):\n%s", diff)
	}
	if got := titles(entries)[3:]; len(got) != 2 {
		t.Errorf("entries of the closing = %v, want two", got)
	}
}

// TestFold_FailingSince begins the time of failures again when a user has changed what failed: the failures of before say
// nothing about the endpoint as it is now.
func TestFold_FailingSince(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*integration.Integration)
		ends   bool
	}{
		"enabled":             {func(i *integration.Integration) { i.Enabled, i.Disabled = true, nil }, true},
		"reconfigured":        {func(i *integration.Integration) { i.Config = json.RawMessage(`{"url":"https://b"}`) }, true},
		"another permission":  {func(i *integration.Integration) { i.Permissions = []integration.Port{integration.InboundReceive} }, true},
		"certified":           {func(i *integration.Integration) { certify(i, noon().Add(time.Hour)) }, true},
		"a rotated secret":    {func(i *integration.Integration) { later := noon().Add(time.Hour); i.SecretAt = &later }, false},
		"another user's name": {func(i *integration.Integration) { i.ConfiguredBy = "u2" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory()
			i := webhook(h.now)
			h.put(integration.Entity, "INTEGRATION#webhook", i)
			d := newDelivery(h.now, 1, "webhook")
			d.Log(delivery.Attempt{State: delivery.Failed, At: h.now})
			h.deliver(d)
			i.Enabled, i.Disabled = false, &integration.Disabled{Reason: integration.DisabledFailing, At: h.now}
			h.after(time.Minute).put(integration.Entity, "INTEGRATION#webhook", i)
			p, _ := h.fold(t)
			if got := p.Integrations["webhook"].FailingSince; !got.Equal(noon()) {
				t.Fatalf("failing since %v, want %v while nobody has changed it", got, noon())
			}
			tt.change(&i)
			h.after(time.Hour).put(integration.Entity, "INTEGRATION#webhook", i)
			want := noon()
			if tt.ends {
				want = time.Time{}
			}
			p, _ = h.fold(t)
			if got := p.Integrations["webhook"].FailingSince; !got.Equal(want) {
				t.Errorf("failing since %v, want %v", got, want)
			}
		})
	}
}

func certify(i *integration.Integration, at time.Time) {
	i.State = integration.Certified
	i.Certification = &integration.Certification{PassedAt: at, ExpiresAt: at.Add(integration.CertifiedFor), Ports: i.Permissions}
}

func TestFold_Syncs(t *testing.T) {
	t.Parallel()
	h := newHistory()
	run := func(n int, mode syncrun.Mode, end syncrun.State) string {
		at := h.now
		r := syncrun.StoredRun{Run: syncrun.Run{ID: id.At(at, fmt.Sprint(n)), Provider: "feed", Mode: mode, State: syncrun.Requested, RequestedBy: "u1"}}
		h.put(syncrun.Entity, syncrun.Key(r.ID), r)
		r.State, r.StartedAt = syncrun.Running, &at
		h.put(syncrun.Entity, syncrun.Key(r.ID), r)
		if end != "" {
			r.State, r.Error = end, "the feed answered 500"
			h.after(time.Minute).put(syncrun.Entity, syncrun.Key(r.ID), r)
		}
		return r.ID
	}
	run(1, syncrun.Sandbox, syncrun.Failed)
	run(2, syncrun.Live, syncrun.Failed)
	firstFailure := h.now
	last := run(3, syncrun.Live, syncrun.Failed)
	p, entries := h.fold(t)
	want := projection.Sync{
		Run: last, Mode: syncrun.Live, State: syncrun.Failed, FinishedAt: h.now,
		Failures: []time.Time{firstFailure, h.now}, FailuresInRow: 2, FailingSince: firstFailure,
		Error: "the feed answered 500", Outcomes: []int64{-firstFailure.Unix(), -h.now.Unix()},
	}
	failed := want.Outcomes
	if diff := cmp.Diff(want, p.Syncs["feed"]); diff != "" {
		t.Errorf("after failures (-want +got):\n%s", diff)
	}
	if got := titles(entries); len(got) != 2 {
		t.Errorf("entries = %v, want two", got)
	}
	run(4, syncrun.Live, syncrun.Succeeded)
	last = run(5, syncrun.Live, "")
	p, _ = h.fold(t)
	want = projection.Sync{
		Run: last, Mode: syncrun.Live, State: syncrun.Running, RunningSince: h.now, FinishedAt: h.now, LastSucceededAt: h.now, Successes: []time.Time{h.now},
		Outcomes: append(failed, h.now.Unix()),
	}
	if diff := cmp.Diff(want, p.Syncs["feed"]); diff != "" {
		t.Errorf("after success (-want +got):\n%s", diff)
	}
	if got := p.Memory.Providers["feed"].LastSyncedAt; !got.Equal(h.now) {
		t.Errorf("last synced at %v, want %v", got, h.now)
	}
}

// TestFold_Syncs_Waiting notes once that a run waits for a user.
func TestFold_Syncs_Waiting(t *testing.T) {
	t.Parallel()
	h := newHistory()
	began := h.now
	r := syncrun.StoredRun{Run: syncrun.Run{ID: id.At(began, "r"), Provider: "feed", Mode: syncrun.Live, State: syncrun.Running, StartedAt: &began}}
	h.put(syncrun.Entity, syncrun.Key(r.ID), r)
	r.State, r.Removal = syncrun.Awaiting, &syncrun.Removal{Items: 30, Of: 40}
	for range 2 {
		h.after(time.Minute).put(syncrun.Entity, syncrun.Key(r.ID), r)
	}
	p, entries := h.fold(t)
	want := projection.Sync{Run: r.ID, Mode: syncrun.Live, State: syncrun.Awaiting, RunningSince: began}
	if diff := cmp.Diff(want, p.Syncs["feed"]); diff != "" {
		t.Errorf("sync differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"memory.synced the sync of feed waits for a confirmation before it removes 30 of 40 items"}, titles(entries)); diff != "" {
		t.Errorf("timeline differs (-want +got):\n%s", diff)
	}
}

func TestFold_Timeline(t *testing.T) {
	t.Parallel()
	h := newHistory()
	var newest string
	for n := range 15 {
		h.after(time.Minute)
		newest = id.At(h.now, fmt.Sprint(n))
		h.put(timeline.Entity, timeline.Key(newest), timeline.Entry{
			ID: newest, At: h.now, Kind: timeline.Note, Title: strings.Repeat("ü", 400), Details: json.RawMessage(`"` + strings.Repeat("x", 600) + `"`),
		})
	}
	p, entries := h.fold(t)
	if len(entries) != 0 {
		t.Errorf("entries returned = %v, want none", titles(entries))
	}
	if got := len(p.Timeline); got != projection.MaxTimeline {
		t.Fatalf("entries listed = %d, want %d", got, projection.MaxTimeline)
	}
	first := p.Timeline[0]
	if first.ID != newest {
		t.Errorf("first entry = %+v, want %s", first, newest)
	}
	if got := len(first.Title); got > 256 {
		t.Errorf("title has %d bytes, want 256 at most", got)
	}
	if first.Details != nil {
		t.Errorf("details = %s, want none because they are too long", first.Details)
	}
	h.remove(timeline.Entity, timeline.Key(newest))
	if p, _ = h.fold(t); p.Timeline[0].ID == newest {
		t.Errorf("entry %s is still listed after its removal", newest)
	}
}

func TestFold_Broken(t *testing.T) {
	t.Parallel()
	h := newHistory()
	h.put(memory.Entity, "MEMORY#1", memory.Memory{Provider: "feed"})
	h.put(memory.Entity, "MEMORY#2", "not an object")
	h.put(memory.Entity, "MEMORY#3", memory.Memory{Provider: "feed"})
	p, _, failed := projection.Fold(projection.Empty("acme"), h.changes)
	if got, want := errtest.Message(failed.Err()), "MEMORY#2"; !strings.Contains(got, want) {
		t.Errorf("error = %q, want one with %q", got, want)
	}
	type position struct {
		Total, Version int64
		Applied        store.Sequence
	}
	if got, want := (position{p.Memory.Total, p.ContextVersion, p.Applied}), (position{2, 2, "3"}); got != want {
		t.Errorf("context = %+v, want %+v", got, want)
	}
}

// TestFold_MemoryBytes adds up the bytes of the memories, and keeps the time of the first one.
func TestFold_MemoryBytes(t *testing.T) {
	t.Parallel()
	h := newHistory()
	first := h.put(memory.Entity, "MEMORY#1", memory.Memory{Provider: "feed"})
	h.after(time.Hour).put(memory.Entity, "MEMORY#2", memory.Memory{Provider: "feed", Title: "A"})
	longer := h.put(memory.Entity, "MEMORY#2", memory.Memory{Provider: "feed", Title: "A longer title"})
	p, _ := h.fold(t)
	if got, want := p.Memory.Bytes, int64(len(first.New.Body)+len(longer.New.Body)); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	if !p.Memory.Since.Equal(first.At) {
		t.Errorf("since %v, want %v", p.Memory.Since, first.At)
	}
}

func TestFold_Unknown(t *testing.T) {
	t.Parallel()
	h := newHistory()
	h.put("executive", "EXECUTIVE#1", map[string]string{})
	if p, _ := h.fold(t); p.ContextVersion != 0 {
		t.Errorf("contextVersion = %d after a change of an unknown entity, want 0", p.ContextVersion)
	}
}

// TestFold_AnyCut splits a history into random batches, repeats changes and stores the context in between. The context and
// the entries must stay the same, and Fold must not change its argument.
func TestFold_AnyCut(t *testing.T) {
	t.Parallel()
	t.Run("busy", func(t *testing.T) {
		t.Parallel()
		anyCut(t, busy(400), 20)
	})
	t.Run("former providers", func(t *testing.T) {
		t.Parallel()
		anyCut(t, returning(t), 8)
	})
}

func anyCut(t *testing.T, h *history, seeds uint64) {
	t.Helper()
	want, wantEntries := h.fold(t)
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		p, entries := projection.Empty("acme"), []timeline.Entry(nil)
		for from := 0; from < len(h.changes); {
			to := min(from+1+r.IntN(60), len(h.changes))
			again := max(from-r.IntN(20), 0)
			before := encode(t, p)
			next, more, failed := projection.Fold(p, h.changes[again:to])
			if err := failed.Err(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, encode(t, p)); diff != "" {
				t.Fatalf("Fold changed its argument (-before +after):\n%s", diff)
			}
			entries, from = append(entries, more...), to
			p = projection.Context{}
			if err := json.Unmarshal([]byte(encode(t, next)), &p); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(encode(t, want), encode(t, p)); diff != "" {
			t.Fatalf("seed %d: context (-want +got):\n%s", seed, diff)
		}
		if diff := cmp.Diff(wantEntries, entries); diff != "" {
			t.Fatalf("seed %d: entries (-want +got):\n%s", seed, diff)
		}
	}
}

// busy makes a history of changes of every entity.
func busy(n int) *history {
	h, r := newHistory(), rand.New(rand.NewPCG(7, 7))
	providers := []string{"webhook", "webhook-a", "github", "feed"}
	var open []delivery.Delivery
	for k := range n {
		h.after(time.Duration(r.IntN(600)) * time.Second)
		provider := providers[r.IntN(4)]
		switch r.IntN(8) {
		case 0:
			i := webhook(h.now)
			i.Provider = provider
			h.put(integration.Entity, integration.Key(provider), i)
		case 1:
			due := h.now.Add(48 * time.Hour)
			g, _ := goal.Apply(goal.Goal{}, provider, goal.Draft{ExternalID: fmt.Sprint(k % 5), Title: "T", Progress: r.Float64(), DueAt: &due, State: goal.Open}, h.now)
			h.put(goal.Entity, goal.Key(g.ID), g)
		case 2:
			h.put(timeline.Entity, timeline.Key(id.At(h.now, "t")), timeline.Entry{ID: id.At(h.now, "t"), At: h.now, Kind: timeline.Note, Title: "note"})
		case 3:
			h.put(syncrun.Entity, "SYNC#x", syncrun.StoredRun{Run: syncrun.Run{ID: id.At(h.now, "s"), Provider: provider, Mode: syncrun.Live, State: syncrun.Failed}})
		case 4, 5:
			d := newDelivery(h.now, k, provider)
			open = append(open, d)
			h.deliver(d)
		default:
			if len(open) == 0 {
				continue
			}
			i := r.IntN(len(open))
			d := &open[i]
			d.Log(delivery.Attempt{State: delivery.Failed, At: h.now})
			d.End([]delivery.State{delivery.Delivered, delivery.Dead, delivery.Held, delivery.Scheduled}[r.IntN(4)])
			h.deliver(*d)
		}
	}
	return h
}

func titles(entries []timeline.Entry) []string {
	var all []string
	for _, e := range entries {
		all = append(all, string(e.Kind)+" "+e.Title)
	}
	return all
}

func encode(t testing.TB, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestFold_Taken counts the receipts of accepted deliveries by hour. The removal of a receipt after 7 days changes nothing.
func TestFold_Taken(t *testing.T) {
	t.Parallel()
	h := newHistory()
	first := h.now
	for n, provider := range []string{"github", "webhook-a", "github"} {
		h.put(arrival.ReceiptEntity, arrival.ReceiptPrefix(arrival.Owner{Provider: provider})+fmt.Sprint(n), struct{}{})
		h.after(2 * time.Hour)
	}
	p, entries := h.fold(t)
	if len(entries) > 0 {
		t.Errorf("timeline entries %v, want none", entries)
	}
	third := first.Add(4 * time.Hour).UnixMilli()
	want := map[string]projection.Result{
		"github": {Taken: projection.Taken{third, 1, 0, 0, 0, 1}}, "webhook-a": {Taken: projection.Taken{first.Add(2 * time.Hour).UnixMilli(), 1}},
	}
	if diff := cmp.Diff(want, p.Results); diff != "" {
		t.Errorf("results differ (-want +got):\n%s", diff)
	}
	h.after(7 * 24 * time.Hour)
	h.remove(arrival.ReceiptEntity, arrival.ReceiptPrefix(arrival.Owner{Provider: "github"})+"0")
	after, _ := h.fold(t)
	if diff := cmp.Diff(p.Results, after.Results); diff != "" {
		t.Errorf("results after the removal differ (-want +got):\n%s", diff)
	}
	if after.ContextVersion != p.ContextVersion {
		t.Errorf("the removal made version %d of the context, want still %d, so that it is not written", after.ContextVersion, p.ContextVersion)
	}
}

// TestFold_Ineffective shows how many deliveries took no effect within a day, and why most of them did not.
func TestFold_Ineffective(t *testing.T) {
	t.Parallel()
	h := newHistory()
	var counts arrival.Refusals
	counts.Add(arrival.Verified, "the mapping refused it", h.now, 9)
	counts.Add(arrival.Ineffective, "no rule of the mapping matches", h.now, 2)
	counts.Add(arrival.Ineffective, "it changes nothing that is stored", h.now, 1)
	h.put(arrival.Entity, arrival.Key("github"), counts)
	p, _ := h.fold(t)
	want := map[string]projection.Result{"github": {Idle: projection.Idle{At: h.now, Count: 3, Why: "no rule of the mapping matches"}}}
	if diff := cmp.Diff(want, p.Results); diff != "" {
		t.Errorf("results differ (-want +got):\n%s", diff)
	}
	again, failed := projection.Rebuild(p, h.records())
	errtest.Must(t, failed.Err())
	if diff := cmp.Diff(p.Results, again.Results); diff != "" {
		t.Errorf("rebuilt results differ (-folded +rebuilt):\n%s", diff)
	}
	h.remove(arrival.Entity, arrival.Key("github"))
	p, _ = h.fold(t)
	if diff := cmp.Diff(map[string]projection.Result{"github": {}}, p.Results); diff != "" {
		t.Errorf("results after the counts expired differ (-want +got):\n%s", diff)
	}
}

// TestFold_Taken_Again counts a delivery once that took effect when it was sent again, or in parts.
func TestFold_Taken_Again(t *testing.T) {
	t.Parallel()
	h := newHistory()
	key := arrival.ReceiptPrefix(arrival.Owner{Provider: "github"}) + "1"
	none := arrival.Receipt{None: "the policies denied every action", Actions: []arrival.Action{{Place: "a"}}}
	part := arrival.Receipt{Actions: []arrival.Action{{Place: "a", Done: true}, {Place: "b"}}}
	for n, body := range []any{none, part, struct{}{}} {
		h.put(arrival.ReceiptEntity, key, body)
		p, _ := h.fold(t)
		if got, want := p.Results["github"].Taken.Since(time.Time{}), int64(min(n, 1)); got != want {
			t.Errorf("%d deliveries counted after receipt %d, want %d", got, n, want)
		}
		h.after(time.Minute)
	}
}

// TestFold_Delays records how long the newest thing took, in each direction. A record that is written again without news from
// the provider counts for nothing, nor does a later success of the same event.
func TestFold_Delays(t *testing.T) {
	t.Parallel()
	h := newHistory()
	first := h.now
	said := first.Add(-3 * time.Second)
	h.put(memory.Entity, memory.Key("m"), memory.Memory{ID: "m", Provider: "feed", SourceUpdatedAt: &said})
	h.after(time.Minute)
	h.put(memory.Entity, memory.Key("m"), memory.Memory{ID: "m", Provider: "feed", Title: "again", SourceUpdatedAt: &said})
	earlier := said.Add(-time.Hour)
	h.put(goal.Entity, goal.Key("g"), goal.Goal{ID: "g", Provider: "feed", SourceUpdatedAt: &earlier})
	h.put(timeline.Entity, timeline.Key("n"), timeline.Entry{ID: "n", At: h.now.Add(-2 * time.Second), Kind: timeline.Note, Actor: timeline.Reference{Type: "integration", ID: "github"}})
	fast := h.now.Add(time.Hour)
	h.put(memory.Entity, memory.Key("f"), memory.Memory{ID: "f", Provider: "http", SourceUpdatedAt: &fast})
	d := newDelivery(h.now, 1, "webhook")
	committed := h.now
	h.after(time.Second)
	d.Log(delivery.Attempt{Number: 1, State: delivery.Delivered, At: h.now, LatencyMS: 500})
	d.End(delivery.Delivered)
	h.after(time.Second)
	h.deliver(d)
	d.Restart(h.now)
	d.Log(delivery.Attempt{Number: 2, State: delivery.Delivered, At: h.now.Add(time.Minute)})
	d.End(delivery.Delivered)
	h.after(time.Minute)
	h.deliver(d)
	p, _ := h.fold(t)
	want := map[string]projection.Delay{"feed": {Of: said, MS: 3000}, "github": {Of: committed.Add(-2 * time.Second), MS: 2000}, "http": {Of: committed}}
	for provider, delay := range want {
		if diff := cmp.Diff(delay, p.Results[provider].Received); diff != "" {
			t.Errorf("received of %s (-want +got):\n%s", provider, diff)
		}
	}
	if diff := cmp.Diff(projection.Delay{Of: committed, MS: 1500}, p.Results["webhook"].Sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}
