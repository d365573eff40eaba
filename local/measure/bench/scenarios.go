package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"orgops/shared/base/wait"
)

// arrivals records when each event was published and when it first arrived.
type arrivals struct {
	published []time.Time
	accepted  []time.Duration // from publishing to the answer
	arrived   []atomic.Int64  // Unix ns; 0: not yet
	repeats   atomic.Int64
	left      atomic.Int64
	all       chan struct{}
}

func newArrivals(n int) *arrivals {
	a := &arrivals{published: make([]time.Time, n), accepted: make([]time.Duration, n), arrived: make([]atomic.Int64, n), all: make(chan struct{})}
	a.left.Store(int64(n))
	return a
}

func (a *arrivals) note(_ string, n int, at time.Time) {
	if n >= len(a.arrived) {
		return
	}
	if !a.arrived[n].CompareAndSwap(0, at.UnixNano()) {
		a.repeats.Add(1)
		return
	}
	if a.left.Add(-1) == 0 {
		close(a.all)
	}
}

func (a *arrivals) wait(ctx context.Context, limit time.Duration) error {
	select {
	case <-a.all:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(limit):
		return fmt.Errorf("%d events have not arrived", a.left.Load())
	}
}

// until waits until at most left events have not arrived.
func (a *arrivals) until(ctx context.Context, left int) error {
	for a.left.Load() > int64(left) {
		if !wait.For(ctx, time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

// delays returns the time from publishing to arrival of the events that keep selects.
func (a *arrivals) delays(keep func(n int) bool) []time.Duration {
	var d []time.Duration
	for n := range a.arrived {
		if at := a.arrived[n].Load(); at != 0 && keep(n) {
			d = append(d, time.Unix(0, at).Sub(a.published[n]))
		}
	}
	return d
}

// percentile returns a percentile of durations, in ms.
func percentile(d []time.Duration, p float64) float64 {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return float64(d[min(len(d)-1, int(float64(len(d))*p))].Microseconds()) / 1000
}

// bed holds a service with tenants and a receiver.
type bed struct {
	*service
	*receiver
	tenants []tenant
}

func (b *bed) close() {
	b.stop()
	_ = b.Close()
}

func prepare(ctx context.Context, s settings, arrived func(string, int, time.Time), behaviors func(string) behavior) (*bed, error) {
	return prepareAt(ctx, s, arrived, behaviors, func(_ int, r *receiver) string { return r.url() })
}

// prepareAt does what prepare does, for tenants with receivers of their own.
func prepareAt(
	ctx context.Context, s settings, arrived func(string, int, time.Time), behaviors func(string) behavior, url func(int, *receiver) string,
) (*bed, error) {
	svc, err := start(ctx, s)
	if err != nil {
		return nil, err
	}
	r, err := receive(ctx, arrived, behaviors)
	if err != nil {
		return nil, err
	}
	b := &bed{service: svc, receiver: r}
	if b.tenants, err = svc.createTenants(ctx, s.tenants, func(i int) string { return url(i, r) }); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// publish posts events first to last-1 from clients connections, event n to tenantOf(n). Pace 0 posts as fast as possible.
func (b *bed) publish(a *arrivals, first, last, clients int, pace time.Duration, tenantOf func(n int) int) error {
	next := atomic.Int64{}
	next.Store(int64(first))
	begun := time.Now()
	errs := make(chan error, clients)
	for range clients {
		go func() { errs <- b.publisher(a, &next, first, last, pace, begun, tenantOf) }()
	}
	var all []error
	for range clients {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

func (b *bed) publisher(a *arrivals, next *atomic.Int64, first, last int, pace time.Duration, begun time.Time, tenantOf func(n int) int) error {
	p, err := newPublisher(b.addr, b.tenants[0])
	if err != nil {
		return err
	}
	defer p.Close()
	p.one = b.settings.ordered
	for {
		n := int(next.Add(1)) - 1
		if n >= last {
			return nil
		}
		if pace > 0 {
			time.Sleep(time.Until(begun.Add(time.Duration(n-first) * pace)))
		}
		p.t = b.tenants[tenantOf(n)]
		a.published[n] = time.Now()
		if err := p.publish(n); err != nil {
			return err
		}
		a.accepted[n] = time.Since(a.published[n])
	}
}

func (b *bed) spread(n int) int { return n % len(b.tenants) }

// warm is the number of events that a throughput run publishes before it measures.
const warm = 2000

// poured holds what it took to publish events as fast as the publishers can.
type poured struct {
	accepted, took time.Duration // until the last one was answered, and until it had arrived
	cpu            float64       // seconds of the service
}

// pour publishes warm events, and then measures the events from warm to end until the last one has arrived.
func (b *bed) pour(ctx context.Context, a *arrivals, end int) (p poured, err error) {
	clients, later := b.settings.clients, len(a.arrived)-end
	if err := b.publish(a, 0, warm, clients, 0, b.spread); err != nil {
		return p, err
	}
	if err := a.until(ctx, len(a.arrived)-warm); err != nil {
		return p, err
	}
	cpu, begun := b.cpu(), time.Now()
	if err := b.publish(a, warm, end, clients, 0, b.spread); err != nil {
		return p, err
	}
	p.accepted = time.Since(begun)
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := a.until(limited, later); err != nil {
		return p, fmt.Errorf("%d events have not arrived: %w", a.left.Load()-int64(later), err)
	}
	p.took, p.cpu = time.Since(begun), b.cpu()-cpu
	return p, nil
}

// throughput publishes as fast as the publishers can, and measures until the last event has arrived.
func throughput(ctx context.Context, s settings) error {
	a := newArrivals(warm + s.events)
	b, err := prepare(ctx, s, a.note, nil)
	if err != nil {
		return err
	}
	defer b.close()
	p, err := b.pour(ctx, a, warm+s.events)
	if err != nil {
		return err
	}
	d := a.delays(func(n int) bool { return n >= warm })
	fmt.Printf("%d events, %d publishers, %d tenants: accepted %.0f/s, delivered %.0f/s, CPU %.3f s a 1,000, delay p50 %.1f ms p99 %.1f ms, peak memory %.0f MiB, repeats %d\n",
		s.events, s.clients, s.tenants, float64(s.events)/p.accepted.Seconds(), float64(s.events)/p.took.Seconds(),
		1000*p.cpu/float64(s.events), percentile(d, 0.5), percentile(d, 0.99), b.memory(), a.repeats.Load())
	return nil
}

// latency measures the time from publishing to arrival at a steady pace.
func latency(ctx context.Context, s settings) error {
	for _, rate := range []int{50, 300} {
		warm := rate
		n := int(float64(rate)*s.duration.Seconds()) + warm
		a := newArrivals(n)
		b, err := prepare(ctx, s, a.note, nil)
		if err != nil {
			return err
		}
		err = b.publish(a, 0, n, 8, time.Second/time.Duration(rate), b.spread)
		if err == nil {
			err = a.wait(ctx, time.Minute)
		}
		b.close()
		if err != nil {
			return err
		}
		d := a.delays(func(n int) bool { return n >= warm })
		accepted := a.accepted[warm:]
		fmt.Printf("%d/s: publish to received p50 %.2f ms, p90 %.2f ms, p99 %.2f ms; publish to accepted p50 %.2f ms, p99 %.2f ms\n",
			rate, percentile(d, 0.5), percentile(d, 0.9), percentile(d, 0.99), percentile(accepted, 0.5), percentile(accepted, 0.99))
	}
	return nil
}

// hanging makes two of the tenants' receivers hang, sends them 1,000 events first, and measures the other tenants.
func hanging(ctx context.Context, s settings) error {
	const hung, first, healthy, rate = 2, 1000, 3000, 300
	for _, calm := range []bool{true, false} {
		a := newArrivals(first + healthy)
		var on atomic.Bool
		b, err := prepare(ctx, s, a.note, func(path string) behavior {
			if on.Load() && !calm && (path == "/0" || path == "/1") {
				return pause(10 * time.Second)
			}
			return nil
		})
		if err != nil {
			return err
		}
		on.Store(true)
		begin := first
		if !calm {
			begin = 0
		}
		err = b.publish(a, begin, first, 32, 0, func(n int) int { return n % hung })
		if err == nil {
			err = b.publish(a, first, first+healthy, 8, time.Second/rate, func(n int) int { return hung + n%(s.tenants-hung) })
		}
		deadline := time.Now().Add(30 * time.Second)
		for d := a.delays(func(n int) bool { return n >= first }); len(d) < healthy && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
			d = a.delays(func(n int) bool { return n >= first })
		}
		peak := b.memory()
		b.close()
		if err != nil {
			return err
		}
		d := a.delays(func(n int) bool { return n >= first })
		name := "calm"
		if !calm {
			name = "2 hanging"
		}
		fmt.Printf("%s: %d healthy events arrived, p50 %.2f ms, p95 %.2f ms, p99 %.2f ms, peak memory %.0f MiB\n",
			name, len(d), percentile(d, 0.5), percentile(d, 0.95), percentile(d, 0.99), peak)
	}
	return nil
}

// reads measures authenticated GETs from 16 clients.
func reads(ctx context.Context, s settings) error {
	const clients = 16
	a := newArrivals(200)
	b, err := prepare(ctx, s, a.note, nil)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.publish(a, 0, 200, 8, 0, b.spread); err != nil {
		return err
	}
	for _, path := range []string{"mission-control/health", "mission-control/dashboard", "intelligence/brief", "integrations", "memory?limit=10"} {
		var mu sync.Mutex
		var all []time.Duration
		var running sync.WaitGroup
		errs := make(chan error, clients)
		stop := time.Now().Add(s.duration / 2)
		begun, cpu := time.Now(), b.cpu()
		for i := range clients {
			running.Go(func() {
				d, err := get(b.addr, b.tenants[i%len(b.tenants)], path, stop)
				errs <- err
				mu.Lock()
				all = append(all, d...)
				mu.Unlock()
			})
		}
		running.Wait()
		took, used := time.Since(begun), b.cpu()-cpu
		for range clients {
			if err := <-errs; err != nil {
				return err
			}
		}
		fmt.Printf("GET %s, %d clients: %.0f/s, p50 %.2f ms, p99 %.2f ms, CPU %.3f s a 1,000\n",
			path, clients, float64(len(all))/took.Seconds(), percentile(all, 0.5), percentile(all, 0.99), 1000*used/float64(len(all)))
	}
	return nil
}

func get(addr string, t tenant, path string, stop time.Time) ([]time.Duration, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	request := fmt.Appendf(nil, "GET /companies/%s/%s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n\r\n", t.company, path, t.token)
	var d []time.Duration
	for begun := time.Now(); begun.Before(stop); begun = time.Now() {
		status, err := c.do(request)
		if err != nil || status != 200 {
			return nil, fmt.Errorf("%s: %d %w", path, status, err)
		}
		d = append(d, time.Since(begun))
	}
	return d, nil
}

// restart kills the service with events in flight, and measures missing events, repeats, and the time until all have arrived.
func restart(ctx context.Context, s settings) error {
	const events = 4000
	a := newArrivals(events)
	b, err := prepare(ctx, s, a.note, nil)
	if err != nil {
		return err
	}
	defer b.close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.publish(a, 0, events, s.clients, 0, b.spread) // the publishers lose their connections
	}()
	if err := a.until(ctx, events/2); err != nil {
		return err
	}
	if err := b.process.Process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-done
	_ = b.process.Wait()
	missing := 0
	for n := range a.arrived {
		if !a.published[n].IsZero() && a.arrived[n].Load() == 0 {
			missing++
		}
	}
	begun := time.Now()
	if err := b.launch(ctx); err != nil {
		return err
	}
	up := time.Since(begun)
	last := begun
	for quiet := time.Now(); time.Since(quiet) < 3*time.Second; time.Sleep(5 * time.Millisecond) {
		for n := range a.arrived {
			if at := time.Unix(0, a.arrived[n].Load()); at.After(last) {
				last, quiet = at, time.Now()
			}
		}
	}
	fmt.Printf("killed with %d published and not arrived; up after %.0f ms, the last missing one %.0f ms after the start, repeats %d\n",
		missing, float64(up.Microseconds())/1000, float64(last.Sub(begun).Microseconds())/1000, a.repeats.Load())
	return nil
}
