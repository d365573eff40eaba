// Package syncer processes sync runs. It takes a run from the queue, fetches pages from the provider, commits each page
// with the run's progress, and asks for the next slice when its slice of time is used up.
//
// A run's progress is stored in its record, never in a message or in memory. So when a worker is lost, the next one
// continues at the run's checkpoint.
package syncer

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connect"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/mapping"
	"orgops/shared/run/boot"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Syncer processes sync runs. All fields are required except Metrics and Background, and Access in a process without connections.
type Syncer struct {
	Store      store.Store
	Jobs       queue.Queue
	Connectors connector.Registry
	Vault      integration.Vault
	Access     connect.Access // of connections
	Engine     policy.Engine
	Logger     *slog.Logger
	Metrics    *metric.Recorder // nil: no metrics are recorded
	Now        func() time.Time
	Background Background    // of the process; nil: nothing else runs here that a page could delay
	Slice      time.Duration // bounds one slice of a run, at most 2 minutes; a page in flight is finished

	mappings mapping.Cache // of manifests
}

// Background runs work when it delays others the least. It returns the error of work, or the error of ctx if ctx ends before work begins.
type Background func(ctx context.Context, work func() error) error

// From makes a syncer from the service's parts.
func From(s *boot.Services) *Syncer {
	return &Syncer{
		Store: s.Store, Jobs: s.Syncs, Connectors: s.Connectors, Vault: s.Vault, Engine: s.Engine, Logger: s.Logger, Metrics: s.Metrics,
		Now: s.Now, Slice: time.Minute,
		Access: connect.Access{Vault: s.Vault, Client: s.Client, Applications: s.Applications, Logger: s.Logger, Now: s.Now},
	}
}

// lease bounds how long a lost worker keeps others from its run; each write of a page renews it. queueLease bounds how long
// a lost worker hides the run's message. Nothing renews queueLease, so a slice and its last page must fit into it.
const (
	lease       = 90 * time.Second
	queueLease  = 3 * time.Minute
	fetchBudget = 45 * time.Second
)

// workers bounds the runs that one process works on concurrently.
const workers = 4

// Run handles jobs until ctx ends, then waits for the pages in flight.
func (s *Syncer) Run(ctx context.Context) { s.Worker().Run(ctx) }

// Worker returns the worker that takes jobs from the queue and settles them.
func (s *Syncer) Worker() queue.Worker {
	return queue.Worker{Queue: s.Jobs, Handle: s.handle, Logger: s.Logger, Lease: queueLease, Slots: workers, Take: 1}
}

func (s *Syncer) handle(ctx context.Context, r queue.Received) (due time.Time, err error) {
	return s.Handle(ctx, r.Body)
}

// Handle works for one slice on the run that a job names, or runs an errand about a connection. The run's record then asks for the next slice. due tells when to redeliver
// the message, because another worker has the run; zero means never.
func (s *Syncer) Handle(ctx context.Context, body []byte) (due time.Time, err error) {
	var job syncrun.Job
	var errand connect.Errand
	if json.Unmarshal(body, &job) != nil || json.Unmarshal(body, &errand) != nil || job.Company == "" {
		return time.Time{}, queue.ErrPoison
	}
	switch {
	case errand.Check+errand.Revoke != "":
		return time.Time{}, s.Access.Do(ctx, store.For(s.Store, job.Company), errand)
	case job.Run == "":
		return time.Time{}, queue.ErrPoison
	}
	sl := slice{Syncer: s, company: store.For(s.Store, job.Company), until: s.Now().Add(s.Slice)}
	err = sl.load(ctx, job.Run)
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil || sl.record.State.Ended() || sl.record.Work.Turn != job.Turn {
		return time.Time{}, err
	}
	if wait := sl.waitUntil(); s.Now().Before(wait) {
		return wait, nil
	}
	return sl.run(ctx)
}
