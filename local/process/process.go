// Package process is the service in one process: it opens a backend, mounts every route group on one router, pumps the
// change feed, works on the queues, and drains all of it when it is told to stop.
package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"orgops/functions"
	"orgops/functions/dispatcher"
	"orgops/functions/projector"
	"orgops/functions/retrier"
	"orgops/functions/syncer"
	"orgops/functions/ticker"
	"orgops/local/docs"
	"orgops/shared/boot"
	"orgops/shared/config"
	"orgops/shared/store"
)

// Version is the API's version: that of the release.
const Version = "0.1.0"

// Process is a service that is ready to run.
type Process struct {
	Services *boot.Services
	Handler  http.Handler

	backend backend
	logger  *slog.Logger
	now     func() time.Time
}

// backend is an open backend.
type backend struct {
	boot.Backend
	feed     store.Feed
	budget   time.Duration               // of a request; 0: none
	separate bool                        // the store charges twice for what is written in a transaction
	keep     func(context.Context) error // what the backend needs to have done until ctx ends; nil: nothing
	close    func() error
}

// Open opens the embedded backend and puts the service together. Close it when it is not run, or after.
func Open(ctx context.Context, c config.Config, logger *slog.Logger) (*Process, error) {
	e, err := OpenEmbedded(ctx, c.Data, true, time.Now)
	if err != nil {
		return nil, err
	}
	return assemble(c, backend{Backend: e.Backend, feed: e.store, close: e.Close}, logger)
}

// assemble takes the backend over.
func assemble(c config.Config, b backend, logger *slog.Logger) (*Process, error) {
	services, err := boot.New(c, b.Backend, logger, time.Now)
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	server := services.Web(Version)
	functions.Register(server.API(), services)
	docs.Register(server)
	return &Process{Services: services, Handler: within(b.budget, server), backend: b, logger: logger, now: time.Now}, nil
}

// within has requests given up after a budget, by the context.
func within(budget time.Duration, h http.Handler) http.Handler {
	if budget == 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, stop := context.WithTimeout(r.Context(), budget)
		defer stop()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Close closes the backend.
func (p *Process) Close() error {
	p.Services.Client.CloseIdle()
	return p.backend.close()
}

// Limits on connections. A request is short; what takes long (a certification) has its own budget of 20 s.
const (
	readHeaderTimeout = 5 * time.Second
	writeTimeout      = 45 * time.Second
	idleTimeout       = 2 * time.Minute
	drainTimeout      = 20 * time.Second // of the requests under way; then of the attempts
)

// Run serves on l and works until ctx ends. Then it refuses new connections, finishes the requests, the batches and
// the attempts under way, and returns. It closes l.
func (p *Process) Run(ctx context.Context, l net.Listener) error {
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	finished := p.work(working)

	server := &http.Server{
		Handler: p.Handler, ReadHeaderTimeout: readHeaderTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(p.logger.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		stop()
		return errors.Join(err, <-finished)
	case err := <-finished: // a worker that ends on its own has failed
		return errors.Join(fmt.Errorf("a worker ended: %w", err), server.Close())
	case <-ctx.Done():
	}
	p.logger.Info("draining")
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := server.Shutdown(draining)
	stop() // requests first: what they commit is still dispatched
	select {
	case werr := <-finished:
		return errors.Join(err, werr)
	case <-time.After(drainTimeout): // of their own: a slow request takes none of it
		p.logger.Warn("attempts were cut off; they are made again at the next start")
		return err
	}
}

// tickEvery is how often the timers are looked at.
const tickEvery = 10 * time.Second

// work starts every worker. The channel gets one value when all have ended: why, if it was not ctx.
func (p *Process) work(ctx context.Context) <-chan error {
	s := p.Services
	project := &projector.Projector{Store: s.Store, Logger: p.logger}
	dispatch := dispatcher.New(dispatcher.Deps{
		Store: s.Store, Courier: s.Courier, Retries: s.Retries, Syncs: s.Syncs, Logger: p.logger, Now: p.now,
		Separate: p.backend.separate,
	})
	retry := retrier.New(retrier.Deps{Store: s.Store, Courier: s.Courier, Queue: s.Retries, Logger: p.logger, Now: p.now})
	pull := &syncer.Syncer{
		Store: s.Store, Jobs: s.Syncs, Connectors: s.Connectors, Vault: s.Vault, Engine: s.Engine, Logger: p.logger,
		Now: p.now, Slice: time.Minute,
	}
	tick := &ticker.Ticker{Store: s.Store, Logger: p.logger, Now: p.now}

	ctx, stop := context.WithCancelCause(ctx)
	var workers sync.WaitGroup
	consume := func(run func(context.Context, store.Feed) error) {
		if err := run(ctx, p.backend.feed); err != nil {
			stop(err) // without one of its consumers the service must not go on as if all were well
		}
	}
	if keep := p.backend.keep; keep != nil {
		workers.Go(func() {
			if err := keep(ctx); err != nil {
				stop(err)
			}
		})
	}
	workers.Go(func() { consume(project.Run) })
	workers.Go(func() { consume(dispatch.Run) })
	workers.Go(func() { retry.Run(ctx) })
	workers.Go(func() { pull.Run(ctx) })
	workers.Go(func() { tick.Run(ctx, tickEvery) })
	finished := make(chan error, 1)
	go func() {
		workers.Wait()
		err := context.Cause(ctx)
		stop(nil)
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		finished <- err
	}()
	return finished
}
