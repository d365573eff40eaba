package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"orgops/shared/base/wait"
)

// slow sends 1,000 events to one endpoint that takes two seconds for an answer: first as they are published, then again as
// held deliveries that are recovered, which come from the queue of retries.
func slow(ctx context.Context, s settings) error {
	const events = 1000
	s.tenants, s.apart = 1, true
	var on atomic.Bool
	a := newArrivals(2 * events)
	b, err := prepare(ctx, s, a.note, func(string) behavior {
		if on.Load() {
			return pause(2 * time.Second)
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer b.close()
	on.Store(true)
	begun := time.Now()
	if err := b.publish(a, 0, events, s.clients, 0, b.spread); err != nil {
		return err
	}
	if err := a.last(ctx, "feed", events, begun); err != nil {
		return err
	}
	if err := b.hold(ctx, b.tenants[0], func() error {
		return b.publish(a, events, 2*events, s.clients, 0, b.spread)
	}); err != nil {
		return err
	}
	wait.For(ctx, 65*time.Second) // the service forgets how many attempts at once the endpoint has answered
	begun = time.Now()
	if err := b.recover(ctx, b.tenants[0]); err != nil {
		return err
	}
	err = a.last(ctx, "queue", 0, begun)
	fmt.Printf("peak memory %.0f MiB\n", b.memory())
	return err
}

// last waits until at most left events have not arrived, and prints how long the others took.
func (a *arrivals) last(ctx context.Context, path string, left int, begun time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	err := a.until(ctx, left)
	fmt.Printf("%s: %d of 1,000 events arrived in %.1f s\n", path, int64(1000+left)-a.left.Load(), time.Since(begun).Seconds())
	return err
}

// hold disables a tenant's endpoint while publish runs, and enables it when its deliveries are held.
func (b *bed) hold(ctx context.Context, t tenant, publish func() error) error {
	if err := b.act(ctx, t, "disable", nil); err != nil {
		return err
	}
	if err := publish(); err != nil {
		return err
	}
	wait.For(ctx, 2*time.Second) // the dispatcher holds the last delivery within milliseconds
	return b.act(ctx, t, "enable", nil)
}

// recover sends a tenant's held deliveries again.
func (b *bed) recover(ctx context.Context, t tenant) error {
	return b.act(ctx, t, "recover", map[string]any{"since": time.Now().Add(-time.Hour).UTC()})
}

func (b *bed) act(ctx context.Context, t tenant, action string, body any) error {
	var answer struct{}
	return b.post(ctx, "/companies/"+t.company+"/integrations/"+endpoint+"/"+action, t.token, body, &answer)
}
