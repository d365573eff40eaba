package projector

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"orgops/shared/store"
	"orgops/shared/wait"
)

// Consumer is the projector's name at the feed.
const Consumer = "projector"

const (
	maxParallel = 8                      // companies that are folded at the same time
	firstPause  = 100 * time.Millisecond // before a company whose commit did not work is tried again
	maxPause    = 5 * time.Second
)

// Run consumes the feed until ctx ends. While one round of commits is under way, and for a moment before the next,
// batches gather, so that a burst is one commit a company.
//
// A company whose commit cannot be made now keeps its place: its changes are tried again ahead of those that came
// later, and a batch is finished when all of its companies are. That is why failed batches are not simply handed back:
// a later batch would be folded before them, and they would count as seen.
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

// work folds what has gathered, round after round, until ctx ends; then it gives back what is left.
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

// round folds everything that has gathered; again is true when some of it has to be tried once more.
func (p *Projector) round(ctx context.Context, g *gathering) (again bool) {
	var (
		running sync.WaitGroup
		failed  atomic.Bool
		slots   = make(chan struct{}, maxParallel)
	)
	for company, pile := range g.take() {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			if err := p.company(ctx, company, pile.changes); err != nil {
				failed.Store(true)
				if ctx.Err() == nil { // else shutting down: the feed hands it over again
					p.Logger.WarnContext(ctx, "company context is behind", "company", company, "changes", len(pile.changes), "error", err)
				}
				g.putBack(company, pile) // from here on the pile grows as changes arrive
				return
			}
			g.finish(pile)
		})
	}
	running.Wait()
	return failed.Load()
}
