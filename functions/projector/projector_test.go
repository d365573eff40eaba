package projector_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/projector"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/parked"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/metrictest"
	"orgops/shared/testkit/webtest"
)

// faulty wraps a store and can make its commits fail.
type faulty struct {
	store.Store
	mu      sync.Mutex
	commits int
	gets    int
	fail    func(n int, ops []store.Op) error // of the n-th commit
}

func (f *faulty) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	f.mu.Lock()
	f.gets++
	f.mu.Unlock()
	return f.Store.Get(ctx, p, key)
}

func (f *faulty) Commit(ctx context.Context, ops ...store.Op) error {
	f.mu.Lock()
	f.commits++
	n, fail := f.commits, f.fail
	f.mu.Unlock()
	if fail != nil {
		if err := fail(n, ops); err != nil {
			return err
		}
	}
	return f.Store.Commit(ctx, ops...)
}

func setup(t *testing.T) (*projector.Projector, *faulty) {
	t.Helper()
	s := &faulty{Store: webtest.New(t).Store}
	return newProjector(s), s
}

func newProjector(s store.Store) *projector.Projector {
	return &projector.Projector{Store: s, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Linger: time.Microsecond}
}

// remembered returns a change that creates a memory.
func remembered(company string, n int) store.Change {
	return put(company, n, memory.Entity, memory.Key(fmt.Sprint(n)), memory.Memory{Provider: "feed"})
}

// wanted returns a change that creates a goal, which causes a timeline entry.
func wanted(company string, n int) store.Change {
	g := goal.Goal{ID: fmt.Sprint(n), Provider: "github", Title: "Ship", State: goal.Open, Alignment: goal.Alignment{Status: goal.Aligned}}
	return put(company, n, goal.Entity, goal.Key(g.ID), g)
}

func put(company string, n int, entity, key string, body any) store.Change {
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return store.Change{
		Sequence: store.Sequence(fmt.Sprint(n)), Company: company, Key: key, Entity: entity,
		At: time.Now().UTC(), New: &store.Image{Version: 1, Body: raw},
	}
}

// known counts what the store has of a company: in its context, and on its timeline.
type known struct {
	Changes                  int64 // folded in
	Memories, Goals, Entries int
}

func wantKnown(t *testing.T, s store.Store, company string, want known) {
	t.Helper()
	c := store.For(s, company)
	p, _, err := projection.Load(t.Context(), c)
	errtest.Must(t, err)
	got := known{Changes: p.ContextVersion, Memories: int(p.Memory.Total), Goals: p.Goals.Total}
	for q := (store.Query{Prefix: timeline.Prefix}); ; {
		page, err := c.Query(t.Context(), q)
		errtest.Must(t, err)
		got.Entries += len(page.Items)
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if got != want {
		t.Errorf("known of %s: %+v, want %+v", company, got, want)
	}
}

func TestProjector_Handle(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	batch := store.Batch{Changes: []store.Change{remembered("a", 10), wanted("b", 1), remembered("a", 11), wanted("a", 12)}}
	if err := p.Handle(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := p.Handle(t.Context(), batch); err != nil { // a redelivery
		t.Fatal(err)
	}
	if err := newProjector(s).Handle(t.Context(), batch); err != nil { // by another process
		t.Fatal(err)
	}
	wantKnown(t, s, "a", known{Changes: 3, Memories: 2, Goals: 1, Entries: 1})
	wantKnown(t, s, "b", known{Changes: 1, Goals: 1, Entries: 1})
	if s.commits != 2 {
		t.Errorf("%d commits, want one for each company", s.commits)
	}
	if s.gets < 2 {
		t.Errorf("%d reads, want at least one for each company", s.gets)
	}
}

// TestProjector_Handle_Others checks that a projector drops its cached context when another projector has written a newer
// one.
func TestProjector_Handle_Others(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	for n := 1; n <= 6; n++ {
		who := p
		if n%2 == 0 {
			who = newProjector(s)
		}
		if err := who.Handle(t.Context(), store.Batch{Changes: []store.Change{remembered("a", n)}}); err != nil {
			t.Fatal(err)
		}
	}
	wantKnown(t, s, "a", known{Changes: 6, Memories: 6})
}

// TestProjector_Handle_Many folds more entries than a commit may hold.
func TestProjector_Handle_Many(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	var changes []store.Change
	for n := range 256 {
		changes = append(changes, wanted("a", n+1))
	}
	if err := p.Handle(t.Context(), store.Batch{Changes: changes}); err != nil {
		t.Fatal(err)
	}
	wantKnown(t, s, "a", known{Changes: 256, Goals: 256, Entries: 256})
}

// TestProjector_Handle_Again rebuilds a lost context whose entries still exist.
func TestProjector_Handle_Again(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	batch := store.Batch{Changes: []store.Change{wanted("a", 1), wanted("a", 2)}}
	if err := p.Handle(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	a := store.For(s, "a")
	if err := a.Commit(t.Context(), a.Delete(projection.Key, projection.Entity, 1)); err != nil {
		t.Fatal(err)
	}
	if err := newProjector(s).Handle(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	wantKnown(t, s, "a", known{Changes: 2, Goals: 2, Entries: 2})
}

// TestProjector_Handle_Failures checks that every failure of a company's commit is retried and does not affect the others.
func TestProjector_Handle_Failures(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	refused := errors.New("AccessDeniedException")
	s.fail = func(_ int, ops []store.Op) error {
		switch id, _ := ops[0].Partition.CompanyID(); id {
		case "away":
			return store.ErrUnavailable
		case "unknown":
			return store.ErrUnknown
		case "refused":
			return refused
		}
		return nil
	}
	batch := store.Batch{Changes: []store.Change{remembered("away", 1), remembered("unknown", 1), remembered("refused", 1), remembered("well", 1)}}
	err := p.Handle(t.Context(), batch)
	for _, want := range []error{store.ErrUnavailable, store.ErrUnknown, refused} {
		if !errors.Is(err, want) {
			t.Errorf("error %v, want %v in it", err, want)
		}
	}
	wantKnown(t, s, "well", known{Changes: 1, Memories: 1}) // although the others failed
	s.fail = nil
	errtest.Must(t, p.Handle(t.Context(), batch))
	for _, company := range []string{"away", "unknown", "refused", "well"} {
		wantKnown(t, s, company, known{Changes: 1, Memories: 1})
	}
}

// wantParked compares the keys of a company's parked changes.
func wantParked(t *testing.T, s store.Store, company string, want ...string) {
	t.Helper()
	page, err := store.For(s, company).Query(t.Context(), store.Query{Prefix: parked.Prefix})
	errtest.Must(t, err)
	var got []string
	for _, item := range page.Items {
		p, err := parked.Decode(item.Body)
		errtest.Must(t, err)
		got = append(got, p.Key)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parked changes of %s differ (-want +got):\n%s", company, diff)
	}
}

// TestProjector_Handle_Parked parks a change that cannot be decoded, and folds the others. While the change cannot be parked,
// the batch is retried.
func TestProjector_Handle_Parked(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	metrics, log := metrictest.New(time.Now)
	p.Metrics = metrics
	odd := remembered("a", 2)
	odd.New = &store.Image{Version: 1, Body: json.RawMessage(`[1]`)}
	batch := store.Batch{Changes: []store.Change{remembered("a", 1), odd, remembered("a", 3)}}
	s.fail = func(_ int, ops []store.Op) error {
		if ops[0].Entity == parked.Entity {
			return store.ErrUnavailable
		}
		return nil
	}
	if err := p.Handle(t.Context(), batch); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("while the change cannot be parked: error %v, want %v", err, store.ErrUnavailable)
	}
	wantKnown(t, s, "a", known{})
	s.fail = nil
	for range 2 {
		errtest.Must(t, p.Handle(t.Context(), batch))
	}
	wantKnown(t, s, "a", known{Changes: 2, Memories: 2})
	wantParked(t, s, "a", odd.Key)
	metrics.Flush("")
	want := map[string]float64{"ProjectionDelay": 1, "ChangesParked": 1}
	if diff := cmp.Diff(want, metrictest.Sums(t, log.String())); diff != "" {
		t.Errorf("metrics differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"a"}, metrictest.Read(t, log.String())[0].Others["companies"]); diff != "" {
		t.Errorf("companies of the failures differ (-want +got):\n%s", diff)
	}
}

// TestProjector_Handle_Unreadable parks the changes of a company whose context cannot be decoded, or does not fit its item.
func TestProjector_Handle_Unreadable(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	a := store.For(s, "a")
	errtest.Must(t, a.Commit(t.Context(), a.Create(projection.Key, projection.Entity, json.RawMessage(`{"integrations":null}`))))
	s.fail = func(_ int, ops []store.Op) error {
		if id, _ := ops[0].Partition.CompanyID(); id == "b" && ops[0].Entity == projection.Entity {
			return store.ErrTooLarge
		}
		return nil
	}
	errtest.Must(t, p.Handle(t.Context(), store.Batch{Changes: []store.Change{remembered("a", 1), remembered("b", 1), remembered("c", 1)}}))
	wantParked(t, s, "a", memory.Key("1"))
	wantParked(t, s, "b", memory.Key("1"))
	wantKnown(t, s, "c", known{Changes: 1, Memories: 1})
}

// feed delivers prepared batches, then waits for ctx and for the unfinished batches.
type feed struct {
	first    []store.Batch
	failed   <-chan struct{} // closed before the second batches are delivered
	then     []store.Batch
	finished chan error
}

func (f *feed) Consume(ctx context.Context, consumer string, handle func(context.Context, store.Batch, func(error))) error {
	if consumer != "projector" {
		return fmt.Errorf(`consumer %q, want "projector"`, consumer)
	}
	var open sync.WaitGroup
	handOver := func(batches []store.Batch) {
		for _, b := range batches {
			open.Add(1)
			handle(ctx, b, func(err error) { f.finished <- err; open.Done() })
		}
	}
	handOver(f.first)
	if f.failed != nil {
		<-f.failed
		handOver(f.then)
	}
	<-ctx.Done()
	open.Wait()
	return nil
}

// TestProjector_Run keeps delivering changes of a while the commits of its first change fail and are retried.
func TestProjector_Run(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	failed := make(chan struct{})
	var once sync.Once
	s.fail = func(n int, ops []store.Op) error {
		if id, _ := ops[0].Partition.CompanyID(); id == "a" && n < 4 {
			once.Do(func() { close(failed) })
			return store.ErrUnavailable
		}
		return nil
	}
	const batches = 1000
	f := &feed{finished: make(chan error, batches+1), first: []store.Batch{{}}, failed: failed}
	for n := range batches {
		f.then = append(f.then, store.Batch{Changes: []store.Change{wanted("a", 2*n+1), remembered("b", 2*n+2)}})
	}
	f.first, f.then = append(f.first, f.then[0]), f.then[1:]
	var retries atomic.Int32
	f.first[1].Retries = func() { retries.Add(1) }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx, f) }()
	for range batches + 1 {
		if err := <-f.finished; err != nil {
			t.Error(err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	wantKnown(t, s, "a", known{Changes: batches, Goals: batches, Entries: batches})
	wantKnown(t, s, "b", known{Changes: batches, Memories: batches})
	if retries.Load() == 0 {
		t.Error("the feed did not hear that the batch whose commit failed is retried")
	}
	if s.commits > 2*batches {
		t.Errorf("%d commits, want the changes of one round in one commit", s.commits)
	}
}

// TestProjector_Run_Ends checks that a batch that is not folded when the process ends is redelivered.
func TestProjector_Run_Ends(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	ctx, stop := context.WithCancel(t.Context())
	s.fail = func(int, []store.Op) error { stop(); return store.ErrUnavailable }
	f := &feed{finished: make(chan error, 1), first: []store.Batch{{Changes: []store.Change{remembered("a", 1)}}}}
	if err := p.Run(ctx, f); err != nil {
		t.Error(err)
	}
	if err := <-f.finished; err == nil {
		t.Error("the batch was acknowledged, want an error")
	}
}
