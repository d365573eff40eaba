package inflight

import "slices"

// Track follows the whole feed or one shard of it, with its own position.
type Track[P any] struct {
	window   *Window[P]
	batches  []*Batch[P] // not passed by the position, in the track's order
	cursor   P           // read up to here
	position P           // finished up to here
}

// Track adds a track that starts after a position.
func (w *Window[P]) Track(position P) *Track[P] {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := &Track[P]{window: w, cursor: position, position: position}
	w.tracks = append(w.tracks, l)
	return l
}

// Remove drops a track without batches in flight.
func (w *Window[P]) Remove(l *Track[P]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tracks = slices.DeleteFunc(w.tracks, func(other *Track[P]) bool { return other == l })
}

// Admit counts batches as in flight and records the position up to which they were read. It does both under one lock.
// Otherwise advance could move the position to the cursor, past a batch that is not counted yet.
func (l *Track[P]) Admit(cursor P, batches ...*Batch[P]) {
	w := l.window
	w.mu.Lock()
	defer w.mu.Unlock()
	l.cursor = cursor
	for _, b := range batches {
		w.number++
		b.track, b.number = l, w.number
		l.batches = append(l.batches, b)
		w.count(b.Changes, 1)
	}
}

// Pass records the position up to which the track was read without a change for it. Unlike Admit, it moves the position if no
// batch is in flight.
func (l *Track[P]) Pass(cursor P) {
	w := l.window
	w.mu.Lock()
	defer w.mu.Unlock()
	l.cursor = cursor
	if len(l.batches) == 0 {
		l.position = cursor
		Signal(w.Moved)
	}
}

// Cursor returns the position up to which the track was read.
func (l *Track[P]) Cursor() P {
	l.window.mu.Lock()
	defer l.window.mu.Unlock()
	return l.cursor
}

// Seek makes the track continue reading at another position.
func (l *Track[P]) Seek(cursor P) {
	l.window.mu.Lock()
	defer l.window.mu.Unlock()
	l.cursor = cursor
}

// Position returns the position up to which every change is finished. idle is true when no batch is in flight.
func (l *Track[P]) Position() (position P, idle bool) {
	l.window.mu.Lock()
	defer l.window.mu.Unlock()
	return l.position, len(l.batches) == 0
}

// advance moves the position past finished batches. The caller holds the window's lock.
func (l *Track[P]) advance() (moved bool) {
	for len(l.batches) > 0 && l.batches[0].Changes == nil {
		l.position, moved = l.batches[0].Last, true
		l.batches[0] = nil
		l.batches = l.batches[1:]
	}
	if moved && len(l.batches) == 0 {
		l.position = l.cursor // the records read after the last batch are not in the feed
	}
	return moved
}
