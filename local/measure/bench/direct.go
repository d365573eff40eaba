package main

import (
	"context"
	"fmt"
	"time"
)

// direct publishes to the receiver, with no service between. The figures say what the load generator, the receiver and the
// machine take of those of the throughput and the latency runs.
func direct(ctx context.Context, s settings) error {
	steady := func(rate int) int { return int(float64(rate) * s.duration.Seconds()) }
	for _, run := range []struct{ rate, events, clients int }{{0, s.events, s.clients}, {50, steady(50), 8}, {300, steady(300), 8}} {
		if err := directly(ctx, s, run.rate, run.events, run.clients); err != nil {
			return err
		}
	}
	return nil
}

// directly publishes events at a rate, or without a pace if rate is 0.
func directly(ctx context.Context, s settings, rate, events, clients int) error {
	a := newArrivals(events)
	r, err := receive(ctx, a.note, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	b := &bed{service: &service{settings: s, addr: r.Addr().String()}, receiver: r, tenants: []tenant{{company: "direct"}}}
	var pace time.Duration
	if rate > 0 {
		pace = time.Second / time.Duration(rate)
	}
	begun := time.Now()
	if err := b.publish(a, 0, events, clients, pace, b.spread); err != nil {
		return err
	}
	if err := a.wait(ctx, time.Minute); err != nil {
		return err
	}
	took := time.Since(begun)
	d := a.delays(func(int) bool { return true })
	fmt.Printf("direct: %d events, %d publishers: %.0f/s, publish to received p50 %.2f ms, p95 %.2f ms, p99 %.2f ms\n",
		events, clients, float64(events)/took.Seconds(), percentile(d, 0.5), percentile(d, 0.95), percentile(d, 0.99))
	return nil
}
