package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// ordered publishes 1,000 events about one record, each after the answer to the one before, to an ordered endpoint. It measures
// until the last has arrived, and counts those that arrived out of order.
func ordered(ctx context.Context, s settings) error {
	const events = 1000
	s.tenants, s.apart, s.ordered = 1, true, true
	a := newArrivals(events)
	var last, inversions atomic.Int64
	b, err := prepare(ctx, s, func(path string, n int, at time.Time) {
		if last.Swap(int64(n)) > int64(n) {
			inversions.Add(1)
		}
		a.note(path, n, at)
	}, nil)
	if err != nil {
		return err
	}
	defer b.close()
	begun := time.Now()
	if err := b.publish(a, 0, events, 1, 0, b.spread); err != nil {
		return err
	}
	accepted := time.Since(begun)
	if err := a.wait(ctx, 10*time.Minute); err != nil {
		return err
	}
	fmt.Printf("%d events about one record: accepted in %.1f s, the last arrived after %.1f s, out of order %d, repeats %d\n",
		events, accepted.Seconds(), time.Since(begun).Seconds(), inversions.Load(), a.repeats.Load())
	return nil
}

// recovery holds 10,000 deliveries, recovers them at once, and measures until the last has arrived.
func recovery(ctx context.Context, s settings) error {
	const events = 10_000
	s.tenants, s.apart = 1, true
	a := newArrivals(events)
	b, err := prepare(ctx, s, a.note, nil)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.hold(ctx, b.tenants[0], func() error {
		return b.publish(a, 0, events, s.clients, 0, b.spread)
	}); err != nil {
		return err
	}
	begun := time.Now()
	if err := b.recover(ctx, b.tenants[0]); err != nil {
		return err
	}
	if err := a.wait(ctx, 10*time.Minute); err != nil {
		return err
	}
	took := time.Since(begun)
	fmt.Printf("%d recovered deliveries: the last arrived after %.1f s (%.0f/s), repeats %d, peak memory %.0f MiB\n",
		events, took.Seconds(), events/took.Seconds(), a.repeats.Load(), b.memory())
	return nil
}
