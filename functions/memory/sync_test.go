package memory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	webtest.GuardAll(t, setup(t).Harness)
}

func TestSync(t *testing.T) {
	t.Parallel()
	certified, sandbox := integration.Certified, integration.Sandbox
	tests := []struct {
		name  string
		state integration.State
		body  any
		mode  syncrun.Mode
		full  bool
	}{
		{"no body", certified, nil, syncrun.Live, false},
		{"an empty body", certified, `{}`, syncrun.Live, false},
		{"nulls", certified, `{"mode":null,"dryRun":null}`, syncrun.Live, false},
		{"incremental", certified, `{"mode":"incremental"}`, syncrun.Live, false},
		{"full", certified, `{"mode":"full"}`, syncrun.Live, true},
		{"dry run", certified, `{"dryRun":true}`, syncrun.Sandbox, false},
		{"sandboxed", sandbox, nil, syncrun.Sandbox, false},
		{"sandboxed, not a dry run", sandbox, `{"dryRun":false,"mode":"full"}`, syncrun.Sandbox, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.feed(tt.state)
			answer := s.do("POST", "/memory/sync/feed", tt.body).Want(202)
			var run syncrun.Run
			answer.JSON(&run)
			want := syncrun.Run{
				ID: run.ID, Provider: "feed", Mode: tt.mode, Full: tt.full, State: syncrun.Requested, RequestedBy: s.A.UserID, RequestedAt: s.now,
			}
			if diff := cmp.Diff(want, run); diff != "" {
				t.Errorf("run differs (-want +got):\n%s", diff)
			}
			if got, want := answer.Header.Get("Location"), s.at("/memory/syncs/"+run.ID); got != want {
				t.Errorf("Location %s, want %s", got, want)
			}
			var stored syncrun.Run
			s.Do("GET", answer.Header.Get("Location"), s.A.Token, nil).Want(200).JSON(&stored)
			if diff := cmp.Diff(run, stored); diff != "" {
				t.Errorf("run at its Location differs (-want +got):\n%s", diff)
			}
			s.wantSlot(syncrun.Slot{Run: run.ID})
		})
	}
}

func TestSync_Refused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	refused := func(provider string, status int, kind, detail string) {
		t.Helper()
		if p := s.do("POST", "/memory/sync/"+provider, nil).WantProblem(status, kind); !strings.Contains(p.Detail, detail) {
			t.Errorf("%s: detail %q, want one with %q", provider, p.Detail, detail)
		}
	}
	refused("feed", 404, "not-found", `"feed" is not configured`)
	refused("unknown", 404, "not-found", "known are feed, github, gitlab")
	refused("webhook-a", 409, "conflict", "cannot be synced")
	s.put(integration.Key("github"), integration.Entity, integration.Integration{
		Provider: "github", Kind: "github", Enabled: true, Config: json.RawMessage(`{"repository":"octo/app"}`),
	})
	refused("github", 409, "conflict", "needs the credential token")
	i := s.feed(integration.Certified)
	for _, body := range []string{`{"mode":"quick"}`, `{"dryRun":"yes"}`, `{"more":1}`, `[]`} {
		s.do("POST", "/memory/sync/feed", body).WantProblem(422, "invalid")
	}
	s.do("POST", "/memory/sync/feed", `{"mode"`).WantProblem(400, "malformed")
	i.Enabled = false
	s.put(integration.Key("feed"), integration.Entity, i)
	refused("feed", 409, "conflict", "enable it")
	if got := s.list("/memory/syncs"); len(got.Items) != 0 {
		t.Errorf("runs %+v, want none", got.Items)
	}
}

func (s *service) sync() syncrun.Run {
	s.t.Helper()
	var run syncrun.Run
	s.do("POST", "/memory/sync/feed", nil).Want(202).JSON(&run)
	return run
}

// TestSync_Running refuses a second run of a provider, and names the first.
func TestSync_Running(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.feed(integration.Sandbox)
	run := s.sync()
	if p := s.do("POST", "/memory/sync/feed", nil).WantProblem(409, "sync-running"); !strings.Contains(p.Detail, run.ID) {
		t.Errorf("detail %q, want one with %s", p.Detail, run.ID)
	}
	s.do("POST", "/memory/syncs/"+run.ID+"/cancel", nil).Want(200)
	next := s.sync()
	// A run that expired before a worker started it does not block its provider.
	slot := syncrun.Slot{Run: id.New(), State: json.RawMessage(`{"etag":"x"}`), ConfigDigest: "d"}
	s.put(syncrun.SlotKey("feed"), syncrun.SlotEntity, slot)
	slot.Run = s.sync().ID
	if slot.Run == next.ID {
		t.Errorf("the run is %s again, want a new one", next.ID)
	}
	s.wantSlot(slot)
}

// TestSync_Concurrent accepts one of many concurrent requests, and names it to the others.
func TestSync_Concurrent(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.feed(integration.Certified)
	answers := make([]*webtest.Response, 10)
	var running sync.WaitGroup
	for n := range answers {
		running.Go(func() { answers[n] = s.do("POST", "/memory/sync/feed", nil) })
	}
	running.Wait()
	runs := s.list("/memory/syncs").ids()
	if len(runs) != 1 {
		t.Fatalf("%d runs, want 1", len(runs))
	}
	accepted := 0
	for _, a := range answers {
		if a.Status == 202 {
			accepted++
			continue
		}
		if p := a.WantProblem(409, "sync-running"); !strings.Contains(p.Detail, runs[0]) {
			t.Errorf("detail %q, want one with %s", p.Detail, runs[0])
		}
	}
	if accepted != 1 {
		t.Errorf("%d accepted, want 1", accepted)
	}
}

func TestSync_IdempotencyKey(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.feed(integration.Certified)
	first := s.do("POST", "/memory/sync/feed", nil, "Idempotency-Key", "k").Want(202)
	again := s.do("POST", "/memory/sync/feed", nil, "Idempotency-Key", "k").Want(202)
	if got, want := string(again.Body), string(first.Body); got != want {
		t.Errorf("answer to the repeat %s, want %s", got, want)
	}
	if got, want := again.Header.Get("Location"), first.Header.Get("Location"); got != want {
		t.Errorf("Location of the repeat %q, want %q", got, want)
	}
	s.do("POST", "/memory/sync/feed", `{"mode":"full"}`, "Idempotency-Key", "k").WantProblem(422, "invalid")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.feed(integration.Certified)
	run := s.sync()
	var got syncrun.Run
	s.do("POST", "/memory/syncs/"+run.ID+"/cancel", nil).Want(200).JSON(&got)
	want := run
	want.State, want.FinishedAt = syncrun.Cancelled, &s.now
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run differs (-want +got):\n%s", diff)
	}
	if p := s.do("POST", "/memory/syncs/"+run.ID+"/cancel", nil).WantProblem(409, "conflict"); !strings.Contains(p.Detail, "cancelled") {
		t.Errorf(`detail %q, want one with "cancelled"`, p.Detail)
	}
	s.wantSlot(syncrun.Slot{})
}

// TestCancel_Running ends a started run at its next page. The worker keeps the slot until then.
func TestCancel_Running(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.feed(integration.Certified)
	run := s.sync()
	run.State = syncrun.Running
	s.put(syncrun.Key(run.ID), syncrun.Entity, syncrun.StoredRun{Run: run, Work: syncrun.Work{Checkpoint: json.RawMessage(`2`)}})
	for range 2 {
		var got syncrun.Run
		s.do("POST", "/memory/syncs/"+run.ID+"/cancel", nil).Want(200).JSON(&got)
		if got.State != syncrun.Running {
			t.Errorf("state = %q, want %q", got.State, syncrun.Running)
		}
	}
	var stored syncrun.StoredRun
	item, err := s.company().Get(t.Context(), syncrun.Key(run.ID), &stored)
	errtest.Must(t, err)
	want := syncrun.StoredRun{Run: run, Work: syncrun.Work{CancelRequested: true, Checkpoint: json.RawMessage(`2`)}}
	if diff := cmp.Diff(want, stored, cmpopts.IgnoreFields(syncrun.Work{}, "Turn", "Due")); diff != "" {
		t.Errorf("stored run differs (-want +got):\n%s", diff)
	}
	if stored.Work.Turn != 2 {
		t.Errorf("two cancellations asked for %d messages, want 2", stored.Work.Turn)
	}
	if least := s.now.Add(89 * 24 * time.Hour); item.Expires.Before(least) {
		t.Errorf("the run expires at %v, want %v or later", item.Expires, least)
	}
	s.do("POST", "/memory/sync/feed", nil).WantProblem(409, "sync-running")
	if answer := s.do("GET", "/memory/syncs/"+run.ID, nil).Want(200); strings.Contains(string(answer.Body), "work") {
		t.Errorf("answer %s, want one without the worker's state", answer.Body)
	}
}

// TestCancel_IntegrationDeleted cancels a run whose slot was deleted with its integration.
func TestCancel_IntegrationDeleted(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.feed(integration.Certified)
	run := s.sync()
	item, err := s.company().Get(t.Context(), syncrun.SlotKey("feed"), nil)
	errtest.Must(t, err)
	errtest.Must(t, s.company().Commit(t.Context(), s.company().Delete(syncrun.SlotKey("feed"), syncrun.SlotEntity, item.Version)))
	s.do("POST", "/memory/syncs/"+run.ID+"/cancel", nil).Want(200)
	if _, err := s.company().Get(t.Context(), syncrun.SlotKey("feed"), nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("read of the slot: error %v, want %v", err, store.ErrNotFound)
	}
}

func TestCancel_Unknown(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, run := range []string{id.New(), "a%23b", "%2e%2e"} {
		for method, rest := range map[string]string{"GET": "", "POST": "/cancel"} {
			p := s.do(method, "/memory/syncs/"+run+rest, nil).WantProblem(404, "not-found")
			if want := "there is no sync run with this id"; p.Detail != want {
				t.Errorf("%s: detail %q, want %q", run, p.Detail, want)
			}
		}
	}
}

func TestListSyncs(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var want []string
	for n := range 5 {
		run := syncrun.Run{
			ID: id.At(s.now.Add(time.Duration(-n)*time.Minute), fmt.Sprint(n)), Provider: []string{"feed", "github"}[n%2], Mode: syncrun.Live,
			State: []syncrun.State{syncrun.Succeeded, syncrun.Failed}[n%2], RequestedAt: s.now,
		}
		want = append(want, run.ID)
		s.put(syncrun.Key(run.ID), syncrun.Entity, syncrun.StoredRun{Run: run})
	}
	tests := []struct {
		query string
		want  []string
	}{
		{"", want},
		{"?provider=github", []string{want[1], want[3]}},
		{"?state=succeeded&provider=feed", []string{want[0], want[2], want[4]}},
		{"?state=running", nil},
		{"?limit=2", want[:2]},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, s.list("/memory/syncs"+tt.query).ids()); diff != "" {
			t.Errorf("runs for %q differ (-want +got):\n%s", tt.query, diff)
		}
	}
	first := s.list("/memory/syncs?limit=2")
	if diff := cmp.Diff(want[2:4], s.list("/memory/syncs?limit=2&cursor="+first.NextCursor).ids()); diff != "" {
		t.Errorf("second page differs (-want +got):\n%s", diff)
	}
	s.do("GET", "/memory/syncs?limit=2&provider=feed&cursor="+first.NextCursor, nil).WantProblem(422, "invalid")
	s.do("GET", "/memory/syncs?state=lost", nil).WantProblem(422, "invalid")
}

// TestConfirmSync lets a run go on that waits for a user, once. A run that does not wait answers 409.
func TestConfirmSync(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.feed(integration.Certified)
	var run syncrun.Run
	s.do("POST", "/memory/sync/feed", `{"mode":"full"}`).Want(202).JSON(&run)
	at := "/memory/syncs/" + run.ID + "/confirm"
	if got := s.do("POST", at, nil).WantProblem(409, "conflict").Detail; !strings.Contains(got, "does not wait for a confirmation: it is requested") {
		t.Errorf("detail %q, want it to say that the run does not wait", got)
	}
	c := s.company()
	var record syncrun.StoredRun
	item, err := c.Get(t.Context(), syncrun.Key(run.ID), &record)
	errtest.Must(t, err)
	until := s.now.Add(syncrun.Await)
	record.State, record.Removal = syncrun.Awaiting, &syncrun.Removal{Items: 3, Of: 3, Reason: "the list is empty", Until: &until}
	errtest.Must(t, c.Commit(t.Context(), c.Replace(syncrun.Key(run.ID), syncrun.Entity, item.Version, record)))
	if got := s.do("POST", "/memory/sync/feed", nil).WantProblem(409, "sync-running").Detail; !strings.Contains(got, "confirm it or cancel it") {
		t.Errorf("detail %q, want it to say what another run waits for", got)
	}
	var confirmed syncrun.Run
	s.do("POST", at, nil).Want(202).JSON(&confirmed)
	want := &syncrun.Removal{Items: 3, Of: 3, Reason: "the list is empty", ConfirmedBy: s.A.UserID, ConfirmedAt: &s.now}
	if diff := cmp.Diff(want, confirmed.Removal); diff != "" {
		t.Errorf("removal differs (-want +got):\n%s", diff)
	}
	if confirmed.State != syncrun.Running {
		t.Errorf("the run is %s, want it running", confirmed.State)
	}
	s.do("POST", at, nil).Want(409)
}
