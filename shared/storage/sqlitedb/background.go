package sqlitedb

import (
	"context"
	"time"

	"orgops/shared/base/wait"
)

// These bound how work in the background delays others.
const (
	rest    = 39 // times as long as the work took, while units of Write keep coming
	maxRest = time.Second
	ofLate  = time.Second // units of Write keep coming if one came since
)

// background lets one piece of work run at a time.
type background struct {
	turn   chan struct{} // full while work runs or rests
	rested time.Time     // when the next work may begin; only work that has the turn reads and writes it
}

func newBackground() background { return background{turn: make(chan struct{}, 1)} }

// Background runs work that no caller waits for and that takes milliseconds of a processor or of the writer, such as a page of a sync.
// One piece of work runs at a time. While units of Write keep coming, it takes at most a fortieth of the time, so that few requests meet
// it; work should write by WriteLazily, which does not count as such a unit. Background returns the error of work, or the error of ctx if
// ctx ends before work begins.
func (db *DB) Background(ctx context.Context, work func() error) error {
	b := &db.background
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-b.turn }()
	if !wait.For(ctx, time.Until(b.rested)) {
		return ctx.Err()
	}
	began := time.Now()
	defer func() { b.rested = db.writer.rested(began, time.Now()) }()
	return work()
}

// rested returns when work may begin again after work that took from began to ended.
func (w *writer) rested(began, ended time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ended.Sub(w.pressed) >= ofLate {
		return ended
	}
	return ended.Add(min(rest*ended.Sub(began), maxRest))
}
