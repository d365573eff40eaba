package projector_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"orgops/functions/projector"
	"orgops/shared/domain/memory"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
)

// folds is a store that keeps contexts, and counts their writes.
type folds struct {
	mu     sync.Mutex
	items  map[string]store.Item // by company
	writes map[string]int
	last   map[string]time.Time
}

func (f *folds) Get(_ context.Context, p store.Partition, key string) (store.Item, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	company, _ := p.CompanyID()
	item, ok := f.items[company]
	if !ok || key != projection.Key {
		return store.Item{}, store.ErrNotFound
	}
	return item, nil
}

func (f *folds) GetMany(context.Context, store.Partition, []string) ([]store.Item, error) {
	return nil, nil
}

func (f *folds) Query(context.Context, store.Partition, store.Query) (store.Page, error) {
	return store.Page{}, nil
}

func (f *folds) Commit(_ context.Context, ops ...store.Op) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, op := range ops {
		if op.Key != projection.Key {
			continue
		}
		company, _ := op.Partition.CompanyID()
		f.items[company] = store.Item{Key: op.Key, Version: op.Version + 1, Body: op.Body}
		f.writes[company]++
		f.last[company] = time.Now()
	}
	return nil
}

// steady delivers a hundred changes a second of a busy company for a minute, and one change of another company halfway.
type steady struct {
	folded chan struct{}
	lone   time.Time
}

func (s *steady) Consume(ctx context.Context, _ string, handle func(context.Context, store.Batch, func(error))) error {
	var open sync.WaitGroup
	give := func(company string, n int) {
		open.Add(1)
		c := put(company, n, memory.Entity, memory.Key(fmt.Sprint(n)), memory.Memory{Provider: "feed"})
		handle(ctx, store.Batch{Changes: []store.Change{c}}, func(error) { open.Done() })
	}
	for n := range 6000 {
		<-time.After(10 * time.Millisecond)
		give("busy", n+1)
		if n == 3000 {
			s.lone = time.Now()
			give("lone", 1)
		}
	}
	open.Wait()
	close(s.folded)
	<-ctx.Done()
	return nil
}

// TestProjector_Run_Busy writes a busy company's context once a second, and that of a company with one change at once.
func TestProjector_Run_Busy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &folds{items: map[string]store.Item{}, writes: map[string]int{}, last: map[string]time.Time{}}
		p := newProjector(s)
		p.Linger = projector.DefaultLinger
		f := &steady{folded: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.Run(ctx, f) }()
		<-f.folded
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := s.writes["busy"]; got > 60+31 {
			t.Errorf("%d writes of the busy context in a minute, want one a second after 30 at once", got)
		}
		if waited := s.last["lone"].Sub(f.lone); waited > 2*projector.DefaultLinger {
			t.Errorf("the lone change waited for %v, want at most %v", waited, 2*projector.DefaultLinger)
		}
		known, err := projection.Decode(s.items["busy"])
		if err != nil {
			t.Fatal(err)
		}
		if known.Memory.Total != 6000 {
			t.Errorf("%d memories, want 6000", known.Memory.Total)
		}
	})
}

// crowd delivers fifty changes a second of each of a hundred companies, for three seconds. It notes how many are unfinished at most.
type crowd struct {
	folded chan struct{}
	most   int64
}

func (f *crowd) Consume(ctx context.Context, _ string, handle func(context.Context, store.Batch, func(error))) error {
	var (
		open       sync.WaitGroup
		unfinished atomic.Int64
	)
	for n := range 150 {
		<-time.After(20 * time.Millisecond)
		for company := range 100 {
			open.Add(1)
			c := put(fmt.Sprint("busy-", company), n+1, memory.Entity, memory.Key(fmt.Sprint(n)), memory.Memory{Provider: "feed"})
			f.most = max(f.most, unfinished.Add(1))
			handle(ctx, store.Batch{Changes: []store.Change{c}}, func(error) { unfinished.Add(-1); open.Done() })
		}
	}
	open.Wait()
	close(f.folded)
	<-ctx.Done()
	return nil
}

// TestProjector_Run_Crowd holds few changes of many busy companies, although no company alone has many.
func TestProjector_Run_Crowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &folds{items: map[string]store.Item{}, writes: map[string]int{}, last: map[string]time.Time{}}
		p := newProjector(s)
		p.Linger = projector.DefaultLinger
		f := &crowd{folded: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.Run(ctx, f) }()
		<-f.folded
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if f.most > 3000 {
			t.Errorf("%d changes were held, want 2,500 and what arrives while a burst gathers", f.most)
		}
	})
}
