// Package process runs the service in one process: it opens a backend, mounts every route group on one router, pumps the
// change feed, works the queues, and drains all of them when it is told to stop.
package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"orgops/functions"
	"orgops/functions/dispatcher"
	"orgops/functions/notifier"
	"orgops/functions/projector"
	"orgops/functions/retrier"
	"orgops/functions/syncer"
	"orgops/functions/ticker"
	"orgops/local/process/docs"
	"orgops/local/process/edge"
	"orgops/local/process/mailbox"
	"orgops/shared/base/version"
	"orgops/shared/domain/parked"
	"orgops/shared/identity/token"
	"orgops/shared/provider/catalog/fetching"
	"orgops/shared/provider/policyengine"
	"orgops/shared/run/boot"
	"orgops/shared/run/config"
	"orgops/shared/run/server"
	"orgops/shared/storage/store"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/slack"
)

// Process holds a service that is ready to run.
type Process struct {
	Services *boot.Services
	Handler  http.Handler

	backend backend
	proxies edge.Proxies
	logger  *slog.Logger
}

// backend holds an open backend's parts and how the process uses them.
type backend struct {
	parts     boot.Parts
	verifier  web.Verifier
	cursorKey []byte
	loopback  bool // outgoing requests may reach this machine, because no other machine reaches the service, also not through a proxy
	feed      store.Feed
	aside     syncer.Background           // runs what may delay requests; nil if another machine stores the data
	budget    time.Duration               // of a request; 0 means no limit
	keep      func(context.Context) error // background work of the backend until ctx ends; nil for nothing
	close     func() error
}

// Open opens the embedded backend and assembles the service. The caller closes it after Run, or if it never runs.
func Open(ctx context.Context, c config.Config, logger *slog.Logger) (*Process, error) {
	e, err := OpenEmbedded(ctx, c.Data, true, time.Now)
	if err != nil {
		return nil, err
	}
	sends, err := sender(c)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	apps, err := applications(c)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	tokens := token.Config{Issuer: c.Issuer, Audience: c.Audience, Now: time.Now}
	keys, err := token.OpenFileKeys(filepath.Join(c.Data, TokenFile), tokens, logger)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return assemble(c, backend{
		parts:    boot.Parts{Store: e.Store, Retries: e.Retries, Syncs: e.Syncs, Notices: e.Notices, Mail: sends, Vault: e.Vault, DataKeys: e.DataKeys, Keys: keys, Applications: apps},
		verifier: keys, cursorKey: e.CursorKey, loopback: onLoopback(c.Addr) && len(c.Proxies) == 0, feed: e.store, aside: e.db.Background, keep: e.growLog(logger), close: e.Close,
	}, logger), nil
}

// assemble builds the process on b; the process then owns b.
func assemble(c config.Config, b backend, logger *slog.Logger) *Process {
	if !onLoopback(c.Addr) && len(c.Proxies) == 0 {
		logger.Warn("serving plain HTTP on an address that other machines may reach: put a server with TLS in front of it", "addr", c.Addr)
	}
	p := b.parts
	p.Client = outbound.New(outbound.Options{AllowLoopback: b.loopback, AllowNetworks: c.AllowNetworks, RootCAs: c.RootCAs})
	p.Base = strings.TrimSuffix(c.Issuer, "/")
	p.Logger, p.Now, p.HearsChanges, p.Connectors = logger, time.Now, true, fetching.All(p.Client, time.Now)
	p.Engine, p.NoExecutives, p.SendsFrom = policyengine.New(time.Now), c.NoExecutives, c.Egress
	p.SlackURL = c.SlackURL
	p.SlackApp = func(context.Context) (slack.App, error) {
		return slack.App{ClientID: c.SlackApp[0], ClientSecret: c.SlackApp[1], SigningSecret: c.SlackApp[2]}, nil
	}
	services := boot.New(p)
	s := server.New(services, server.Options{Build: version.Get(), Verifier: b.verifier, CursorKey: b.cursorKey, Origins: c.Origins, Bodies: edge.NewBudget(edge.MaxBodies)})
	functions.Mount(s.API(), services, functions.Without(c.NoExecutives)...)
	docs.Register(s)
	if kept, ok := p.Mail.(*mailbox.Folder); ok && b.loopback {
		s.Router().Handle(mailbox.Path, kept)
		s.Router().Handle(mailbox.Path+"/*", kept)
	}
	proxies := edge.Proxies(c.Proxies)
	b.feed = parked.Feed{Feed: b.feed, Lot: services.Lot, Limit: batchLimit}
	return &Process{Services: services, Handler: proxies.Handler(within(b.budget, s), logger), backend: b, proxies: proxies, logger: logger}
}

// onLoopback reports whether only this machine reaches a host:port. It does not resolve names other than localhost.
func onLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}

// within cancels a request's context after a budget.
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

// drainTimeout is the time for the requests in flight at the end, and then again for the attempts.
const drainTimeout = 20 * time.Second

// Run serves on l and works until ctx ends. Then it refuses new connections, finishes the requests, batches and attempts in
// flight, and returns. It closes l.
func (p *Process) Run(ctx context.Context, l net.Listener) error {
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	finished := p.work(working)

	srv := edge.NewServer(p.Handler)
	srv.ErrorLog = slog.NewLogLogger(p.logger.Handler(), slog.LevelDebug)
	l = edge.NewConns(edge.MaxConns, p.proxies).Serve(srv, l)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	select {
	case err := <-served:
		stop()
		return errors.Join(err, <-finished)
	case err := <-finished: // a worker that ends before ctx has failed
		return errors.Join(fmt.Errorf("a worker ended: %w", err), srv.Close())
	case <-ctx.Done():
	}
	p.logger.Info("draining")
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := srv.Shutdown(draining)
	stop() // after the requests, so that what they commit is still dispatched
	select {
	case werr := <-finished:
		return errors.Join(err, werr)
	case <-time.After(drainTimeout): // the attempts get their own time, which a slow request cannot use up
		p.logger.Warn("attempts cut off; they are retried after the next start")
		return err
	}
}

// batchLimit limits the time of a batch of the feed. A batch of 100 first attempts at slow endpoints takes less than a minute. A consumer
// that takes longer hangs, and the process ends: its next starts find the change and park it.
const batchLimit = 5 * time.Minute

// tickEvery sets how often the process checks the timers.
const tickEvery = 10 * time.Second

// work starts every worker. When all have ended, or one hangs, the channel gets one value: the error that ended them, or nil if ctx did.
func (p *Process) work(ctx context.Context) <-chan error {
	project, dispatch := projector.From(p.Services), dispatcher.From(p.Services)
	retry, pull, tick := retrier.From(p.Services), syncer.From(p.Services), ticker.From(p.Services)
	tell := notifier.From(p.Services)
	pull.Background = p.backend.aside

	ctx, stop := context.WithCancelCause(ctx)
	var workers sync.WaitGroup
	hung := make(chan struct{}, 3) // of the two consumers and the ticker
	fail := func(err error) {
		stop(err)
		if errors.Is(err, parked.ErrHung) {
			hung <- struct{}{}
		}
	}
	consume := func(run func(context.Context, store.Feed) error) {
		if err := run(ctx, p.backend.feed); err != nil {
			fail(err) // the service must not go on without one of its consumers
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
	workers.Go(func() { tell.Run(ctx) })
	workers.Go(func() {
		if err := tick.Run(ctx, tickEvery); err != nil {
			fail(err)
		}
	})
	ended, finished := make(chan struct{}), make(chan error, 1)
	go func() {
		workers.Wait()
		close(ended)
	}()
	go func() {
		select {
		case <-ended:
		case <-hung: // a worker that hangs does not end
		}
		err := context.Cause(ctx)
		stop(nil)
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		finished <- err
	}()
	return finished
}
