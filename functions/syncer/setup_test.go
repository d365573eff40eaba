package syncer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/functions/syncer"
	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// paged implements a provider whose pages a test makes. A checkpoint holds the number of the next page.
type paged struct {
	mu    sync.Mutex
	asked []connector.Fetch
	page  func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error)
}

func (*paged) Kind() string { return "paged" }
func (*paged) Schema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"url":{"type":"string"},"maxItems":{"type":"integer","x-certified":false}}}`)
}
func (*paged) Ports(json.RawMessage) []integration.Port {
	return []integration.Port{integration.SyncPull, integration.MemoryUpsert, integration.GoalUpdate}
}

func (p *paged) Fetch(ctx context.Context, f connector.Fetch) (connector.FetchedPage, error) {
	n, _ := strconv.Atoi(string(f.Checkpoint))
	f.Mapper = nil // the syncer's own, the same for every fetch
	p.mu.Lock()
	p.asked = append(p.asked, f)
	page := p.page
	p.mu.Unlock()
	return page(ctx, n, f)
}

// fetches counts the calls of Fetch.
func (p *paged) fetches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

func (p *paged) answer(page func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.page = page
}

// pages returns an answer of so many pages with size memories each, and with a state at the end.
func pages(of, size int) func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
	return func(_ context.Context, n int, _ connector.Fetch) (connector.FetchedPage, error) {
		page := connector.FetchedPage{Memories: drafts(n*size, size)}
		if n+1 < of {
			page.Checkpoint = json.RawMessage(strconv.Itoa(n + 1))
		} else {
			page.State = json.RawMessage(`"seen"`)
		}
		return page, nil
	}
}

func drafts(from, n int) (all []memory.Draft) {
	for i := range n {
		all = append(all, memory.Draft{ExternalID: fmt.Sprint(from + i), Kind: "entry", Title: fmt.Sprintf("Title %d", from+i)})
	}
	return all
}

func failing(err error) func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
	return func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
		return connector.FetchedPage{}, err
	}
}

var errDown = errors.New("the provider is down")

// config holds the configuration of the connector "paged".
const config = `{"url":"u"}`

// running wraps a syncer over a test harness, with a certified connector "paged" of company a.
type running struct {
	*worktest.Harness
	*syncer.Syncer
	faulty   *worktest.Store
	provider *paged
	named    string // the provider that runs are requested of
}

func setup(t *testing.T) *running {
	t.Helper()
	b := worktest.New(t)
	b.Clock.Set(b.Clock.Now().Truncate(24 * time.Hour).Add(33 * time.Hour)) // 9:00, so that no test crosses a midnight by the hour at which it runs
	r := &running{Harness: b, faulty: &worktest.Store{Store: b.Store}, provider: &paged{page: pages(1, 3)}, named: "paged"}
	r.Syncer = &syncer.Syncer{
		Store: r.faulty, Jobs: b.Syncs, Connectors: connector.New(r.provider), Vault: b.Vault,
		Engine: policyengine.New(b.Clock.Now), Logger: b.Logger, Metrics: b.Metrics, Now: b.Clock.Now, Slice: time.Minute,
	}
	now := b.Clock.Now()
	ports := r.provider.Ports(nil)
	b.Put("a", integration.Key("paged"), integration.Entity, integration.Integration{
		Provider: "paged", Kind: "paged", State: integration.Certified, Enabled: true, Config: json.RawMessage(config), Permissions: ports,
		Certification: &integration.Certification{PassedAt: now, ExpiresAt: now.Add(integration.CertifiedFor), Ports: ports},
	})
	return r
}

// request commits a run, as the API does.
func (r *running) request(mode syncrun.Mode, edit ...func(*syncrun.StoredRun)) syncrun.Job {
	r.T.Helper()
	rec := syncrun.StoredRun{Run: syncrun.Run{
		ID: id.New(), Provider: r.named, Mode: mode, State: syncrun.Requested, RequestedAt: r.Clock.Now(),
	}}
	for _, e := range edit {
		e(&rec)
	}
	slot := r.slot()
	if slot.Run != "" {
		r.T.Fatalf("the slot is taken by %s, want it free", slot.Run)
	}
	slot.Run = rec.ID
	r.Put("a", syncrun.SlotKey(r.named), syncrun.SlotEntity, slot)
	r.Put("a", syncrun.Key(rec.ID), syncrun.Entity, rec)
	return syncrun.Job{Company: "a", Run: rec.ID}
}

// decisions returns the company's decisions, of all pages.
func (r *running) decisions() (all []policy.Decision) {
	r.T.Helper()
	for _, page := range worktest.All[policy.Decisions](r.Harness, "a", policy.Prefix) {
		all = append(append(all, page.Decision), page.Others...)
	}
	return all
}

func (r *running) slot() (slot syncrun.Slot) {
	r.T.Helper()
	r.Get("a", syncrun.SlotKey(r.named), &slot)
	return slot
}

func (r *running) record(j syncrun.Job) (rec syncrun.StoredRun) {
	r.T.Helper()
	if !r.Get("a", syncrun.Key(j.Run), &rec) {
		r.T.Fatal("the run is gone")
	}
	return rec
}

// handle works for one slice, with the message of the run's turn. due tells when the next message is due; it is zero when the run has
// ended. handle does not end the test, so other goroutines may call it.
func (r *running) handle(j syncrun.Job) (due time.Time) {
	r.T.Helper()
	before := r.turn(j)
	due, err := r.Handle(context.Background(), r.message(j))
	if err != nil {
		r.T.Error(err)
	}
	if after := r.turn(j); after.Turn > before.Turn {
		return after.Due
	}
	return due
}

// turn returns the turn of a run; none of an unknown run.
func (r *running) turn(j syncrun.Job) syncrun.Work {
	var rec syncrun.StoredRun
	r.Get("a", syncrun.Key(j.Run), &rec)
	return rec.Work
}

// message returns the message that a run asks for.
func (r *running) message(j syncrun.Job) []byte {
	r.T.Helper()
	j.Turn = r.turn(j).Turn
	body, err := json.Marshal(j)
	if err != nil {
		r.T.Error(err)
	}
	return body
}

// ended checks that a run has ended in a state and freed its slot, and returns the run.
func (r *running) ended(j syncrun.Job, state syncrun.State) syncrun.StoredRun {
	r.T.Helper()
	rec := r.record(j)
	if rec.State != state {
		r.T.Fatalf("the run is %s, want it %s: %+v", rec.State, state, rec)
	}
	if rec.FinishedAt == nil {
		r.T.Fatalf("the run has no time of its end, want one: %+v", rec)
	}
	if diff := cmp.Diff(syncrun.Work{}, rec.Work); diff != "" {
		r.T.Fatalf("work of an ended run differs (-want +got):\n%s", diff)
	}
	if slot := r.slot(); slot.Run != "" {
		r.T.Fatalf("the slot is still taken by %s, want it free", slot.Run)
	}
	p := rec.Progress
	if sum := p.Created + p.Updated + p.Unchanged + p.Failed; rec.Mode == syncrun.Live && sum != p.Fetched {
		r.T.Errorf("the outcomes add up to %d, want the %d fetched items: %+v", sum, p.Fetched, p)
	}
	return rec
}

func (r *running) sync(mode syncrun.Mode, edit ...func(*syncrun.StoredRun)) syncrun.StoredRun {
	r.T.Helper()
	return r.finish(r.request(mode, edit...), syncrun.Succeeded)
}

// wantRun compares a run that has not ended: all except its identity, its source and when it began.
func (r *running) wantRun(j syncrun.Job, want syncrun.StoredRun) {
	r.T.Helper()
	other := cmpopts.IgnoreFields(syncrun.Run{}, "ID", "Provider", "Mode", "RequestedAt", "StartedAt")
	if diff := cmp.Diff(want, r.record(j), other, cmpopts.IgnoreFields(syncrun.Work{}, "Turn", "Due", "Source")); diff != "" {
		r.T.Errorf("run differs (-want +got):\n%s", diff)
	}
}

func (r *running) wantProgress(rec syncrun.StoredRun, want syncrun.Progress) {
	r.T.Helper()
	if diff := cmp.Diff(want, rec.Progress); diff != "" {
		r.T.Errorf("progress differs (-want +got):\n%s", diff)
	}
}

// wantFetches checks how often the syncer has called the connector.
func (r *running) wantFetches(want int) {
	r.T.Helper()
	if got := r.provider.fetches(); got != want {
		r.T.Errorf("%d fetches, want %d", got, want)
	}
}

// wantMemories checks how many memories the company has.
func (r *running) wantMemories(want int) {
	r.T.Helper()
	if got := len(worktest.All[memory.Memory](r.Harness, "a", memory.Prefix)); got != want {
		r.T.Errorf("%d memories, want %d", got, want)
	}
}

// finish works for one slice, after which a run must have ended in a state.
func (r *running) finish(j syncrun.Job, state syncrun.State) syncrun.StoredRun {
	r.T.Helper()
	if due := r.handle(j); !due.IsZero() {
		r.T.Errorf("the run is due again at %v, want never", due)
	}
	return r.ended(j, state)
}

// finishLate works for slice after slice, each at the time when it is due, until the run has ended in a state.
func (r *running) finishLate(j syncrun.Job, state syncrun.State) syncrun.StoredRun {
	r.T.Helper()
	for due := r.handle(j); !due.IsZero(); due = r.handle(j) {
		r.Clock.Set(due)
	}
	return r.ended(j, state)
}

// entities counts the changes of the feed since the harness began, by entity. A test may call it once.
func (r *running) entities() map[string]int {
	r.T.Helper()
	r.Put("a", "MARK", "mark", struct{}{})
	n := map[string]int{}
	ctx, cancel := context.WithTimeout(context.Background(), worktest.Patience)
	defer cancel()
	errtest.Must(r.T, r.Store().Consume(ctx, worktest.Consumer, func(_ context.Context, b store.Batch, done func(error)) {
		for _, c := range b.Changes {
			if n[c.Entity]++; c.Entity == "mark" {
				cancel()
			}
		}
		done(nil)
	}))
	return n
}

func (r *running) Store() store.Feed { return r.Harness.Store }
