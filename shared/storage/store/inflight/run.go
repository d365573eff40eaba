package inflight

import (
	"context"
	"sync"
	"time"
)

// Run calls work, which hands batches over until ctx ends. Run then waits for the batches in flight. Until then it calls
// save whenever a position has moved, at most once in the interval every. After the last batch has ended, Run calls save
// once more, with last true. save gets a context that outlives ctx.
func (w *Window[P]) Run(ctx context.Context, every time.Duration, work func(context.Context), save func(ctx context.Context, last bool)) {
	stop := make(chan struct{})
	var saver sync.WaitGroup
	saver.Go(func() { w.saveMoves(context.WithoutCancel(ctx), stop, every, save) })
	work(ctx)
	w.Drain()
	close(stop)
	saver.Wait()
}

func (w *Window[P]) saveMoves(ctx context.Context, stop <-chan struct{}, every time.Duration, save func(ctx context.Context, last bool)) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for last := false; ; {
		select {
		case <-w.Moved:
		case <-stop:
			last = true
		}
		if save(ctx, last); last {
			return
		}
		pause.Reset(every)
		select {
		case <-pause.C:
		case <-stop:
		}
	}
}
