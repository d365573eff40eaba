package projector

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/storage/store"
)

// Consumer names the projector at the feed.
const Consumer = "projector"

const (
	maxParallel = 8                      // companies that are folded concurrently
	firstPause  = 100 * time.Millisecond // before a company whose commit failed is retried
	maxPause    = 5 * time.Second
)

// Run consumes the feed until ctx ends. Batches gather while a round of commits is in flight and for a moment before the
// next one, so that a burst costs one commit per company. A busy company costs one commit a second: see allowance.
//
// If a company's commit fails, Run retries the company's changes before later changes. A batch is finished when the changes
// of all its companies are folded. Run does not return a failed batch to the feed, because that would lose changes: a later
// batch would be folded first, and the context would then skip the retried changes as already seen.
func (p *Projector) Run(ctx context.Context, feed store.Feed) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g := newGathering()
	var worker sync.WaitGroup
	worker.Go(func() { p.work(ctx, g) })
	err := feed.Consume(ctx, Consumer, func(_ context.Context, b store.Batch, done func(error)) { g.add(b, done) })
	stop()
	worker.Wait()
	return err
}

// work folds the gathered changes, round after round, until ctx ends. Then it returns the remaining batches to the feed.
func (p *Projector) work(ctx context.Context, g *gathering) {
	defer func() { g.close(ctx.Err()) }()
	pause := time.Duration(0)
	for wait.For(ctx, pause) && g.wait(ctx) && wait.For(ctx, p.linger()) {
		if p.round(ctx, g) {
			pause = min(max(2*pause, firstPause), maxPause)
		} else {
			pause = 0
		}
	}
}

func (p *Projector) linger() time.Duration {
	if p.Linger == 0 {
		return DefaultLinger
	}
	return p.Linger
}

// round folds everything that has gathered; again reports whether some of it must be retried.
func (p *Projector) round(ctx context.Context, g *gathering) (again bool) {
	var (
		running sync.WaitGroup
		failed  atomic.Bool
		slots   = make(chan struct{}, maxParallel)
	)
	for company, pile := range g.take(time.Now()) {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			if err := p.company(ctx, company, pile.changes); err != nil {
				failed.Store(true)
				if ctx.Err() == nil { // else shutting down: the feed redelivers it
					p.Logger.WarnContext(ctx, "company context not updated; retrying", "company", company, "changes", len(pile.changes), "error", err)
				}
				g.putBack(company, pile) // from here on the pile grows as changes arrive
				return
			}
			p.count(ctx, company, len(pile.changes))
			g.finish(pile)
		})
	}
	running.Wait()
	return failed.Load()
}
