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
	"time"

	"orgops/shared/connector"
	"orgops/shared/integration"
	"orgops/shared/metric"
	"orgops/shared/policy"
	"orgops/shared/queue"
	"orgops/shared/store"
	"orgops/shared/syncrun"
)

// Syncer is a worker. All fields are required but Metrics.
type Syncer struct {
	Store      store.Store
	Jobs       queue.Queue
	Connectors connector.Registry
	Vault      integration.Vault
	Engine     policy.Engine
	Logger     *slog.Logger
	Metrics    *metric.Recorder // nil: nothing is measured
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
func (s *Syncer) Run(ctx context.Context) { s.Worker().Run(ctx) }

// Worker is what takes jobs from the queue and settles them.
func (s *Syncer) Worker() queue.Worker {
	return queue.Worker{Queue: s.Jobs, Handle: s.Handle, Logger: s.Logger, Lease: queueLease, Slots: workers, Take: 1}
}

// Handle works on the run that a job names for one slice. due is when to go on; zero means that the run has ended.
func (s *Syncer) Handle(ctx context.Context, body []byte) (due time.Time, err error) {
	var job syncrun.Job
	if err := json.Unmarshal(body, &job); err != nil || job.Company == "" || job.Run == "" {
		return time.Time{}, queue.ErrPoison
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
