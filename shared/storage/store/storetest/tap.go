package storetest

import (
	"context"
	"testing"
	"time"

	"orgops/shared/storage/store"
)

// handed pairs a batch with its done.
type handed struct {
	store.Batch
	done func(error)
}

// keys returns the keys of the batch's changes, each with a * if the batch is a replay.
func (b handed) keys() []string {
	var out []string
	for _, c := range b.Changes {
		key := c.Key
		if b.Replay {
			key += "*"
		}
		out = append(out, key)
	}
	return out
}

// tap consumes the feed; a test takes its batches one by one.
type tap struct {
	company string
	batches chan handed
	cancel  context.CancelFunc
	ended   chan error
	rest    []store.Change // received, not yet returned by changes
}

// listen starts a consumer, which ends with the test or by stop.
func listen(t *testing.T, f *fixture, consumer string) *tap {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &tap{company: f.c.ID(), batches: make(chan handed), cancel: cancel, ended: make(chan error, 1)}
	go func() {
		p.ended <- f.Consume(ctx, consumer, func(ctx context.Context, b store.Batch, done func(error)) {
			select {
			case p.batches <- handed{b, done}:
			case <-ctx.Done():
				done(ctx.Err())
			}
		})
	}()
	t.Cleanup(func() { p.stop(t) })
	return p
}

// next waits for a batch.
func (p *tap) next(t *testing.T) handed {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case b := <-p.batches:
		if len(b.Changes) == 0 {
			t.Fatal("empty batch")
		}
		return b
	case <-timer.C:
		t.Fatal("no batch received")
	}
	return handed{}
}

// changes receives and finishes batches until it has n more changes of the company.
func (p *tap) changes(t *testing.T, n int) []store.Change {
	t.Helper()
	for len(p.rest) < n {
		b := p.next(t)
		p.keep(b)
		b.done(nil)
	}
	out := p.rest[:n:n]
	p.rest = p.rest[n:]
	return out
}

func (p *tap) keep(b handed) {
	for _, c := range b.Changes {
		if c.Company == p.company {
			p.rest = append(p.rest, c)
		}
	}
}

// stop ends the consumer and waits for it.
func (p *tap) stop(t *testing.T) {
	t.Helper()
	p.cancel()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-p.ended:
		p.ended <- err
		if err != nil {
			t.Errorf("consume: %v", err)
		}
	case <-timer.C:
		t.Error("consume did not end")
	}
}
