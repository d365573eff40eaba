// Package syncer works on sync runs: it takes a run from the queue, fetches page after page from the provider, commits
// each page with the run's progress, and hands the run back to the queue when its slice of time is used up.
//
// What a run has reached stands in its record, never in a message or in memory: a run that loses its worker goes on
// at its checkpoint.
package syncer

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"orgops/shared/connector"
	"orgops/shared/integration"
	"orgops/shared/policy"
	"orgops/shared/queue"
	"orgops/shared/store"
	"orgops/shared/syncrun"
)

// Syncer is a worker. All fields are required.
type Syncer struct {
	Store      store.Store
	Jobs       queue.Queue
	Connectors connector.Registry
	Vault      integration.Vault
	Engine     policy.Engine
	Logger     *slog.Logger
	Now        func() time.Time
	Slice      time.Duration // how long one slice of a run takes, 2 minutes at most; a page under way is finished
}

// lease is how long a worker that stopped answering keeps others from its run: every write of a page renews it.
// queueLease is the same for its message, which nothing renews: a slice and its last page must fit.
const (
	lease       = 90 * time.Second
	queueLease  = 3 * time.Minute
	fetchBudget = 45 * time.Second
)

// workers is how many runs one process works on at a time.
const workers = 4

// Run takes jobs until ctx ends, then waits for the pages under way.
func (s *Syncer) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { s.work(ctx) })
	}
	wg.Wait()
}

func (s *Syncer) work(ctx context.Context) {
	for ctx.Err() == nil {
		received, err := s.Jobs.Receive(ctx, 1, queueLease)
		if err != nil {
			s.Logger.ErrorContext(ctx, "receive sync jobs", "error", err)
			pause(ctx, time.Second)
			continue
		}
		for _, r := range received {
			s.settle(ctx, r)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// poisonAfter is how often a job may be handed out without being settled before it is buried.
const poisonAfter = 20

// settle handles one message and acknowledges it, puts it off, or leaves it to its lease.
func (s *Syncer) settle(ctx context.Context, r queue.Received) {
	due, err := s.Handle(ctx, r.Body)
	ctx = context.WithoutCancel(ctx) // what was done is acknowledged even while shutting down
	switch {
	case errors.Is(err, errPoison) || err != nil && r.Receives >= poisonAfter:
		s.Logger.ErrorContext(ctx, "sync job buried", "error", err)
		err = s.Jobs.Bury(ctx, r, err.Error())
	case err != nil:
		s.Logger.ErrorContext(ctx, "sync job", "error", err)
		return // handed out again when its lease is over, and counted
	case !due.IsZero():
		err = s.Jobs.Defer(ctx, r, due)
	default:
		err = s.Jobs.Ack(ctx, r)
	}
	if err != nil {
		s.Logger.ErrorContext(ctx, "settle sync job", "error", err)
	}
}

var errPoison = errors.New("not a sync job")

// Handle works on the run that a job names for one slice. due is when to go on; zero means that the run has ended.
func (s *Syncer) Handle(ctx context.Context, body []byte) (due time.Time, err error) {
	var job syncrun.Job
	if err := json.Unmarshal(body, &job); err != nil || job.Company == "" || job.Run == "" {
		return time.Time{}, errPoison
	}
	sl := slice{Syncer: s, company: store.For(s.Store, job.Company), until: s.Now().Add(s.Slice)}
	err = sl.load(ctx, job.Run)
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil || sl.record.State.Ended() {
		return time.Time{}, err
	}
	if wait := sl.waitUntil(); s.Now().Before(wait) {
		return wait, nil
	}
	return sl.run(ctx)
}
