package handover

import "slices"

// Lane is a part of the feed that has a position of its own: all of it, or a shard.
type Lane[P any] struct {
	window   *Window[P]
	batches  []*Batch[P] // not behind the position, in the lane's order
	cursor   P           // read up to here
	position P           // finished up to here
}

// Lane adds a lane that begins behind a position. Of two batches that failed, that of the lane added first comes first.
func (w *Window[P]) Lane(position P) *Lane[P] {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := &Lane[P]{window: w, cursor: position, position: position}
	w.lanes = append(w.lanes, l)
	return l
}

// Remove takes out a lane in which nothing is unfinished.
func (w *Window[P]) Remove(l *Lane[P]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lanes = slices.DeleteFunc(w.lanes, func(other *Lane[P]) bool { return other == l })
}

// Admit counts batches as handed out, and notes up to where they were read. Both happen at once: where nothing is
// unfinished, the cursor is the position.
func (l *Lane[P]) Admit(cursor P, batches ...*Batch[P]) {
	w := l.window
	w.mu.Lock()
	defer w.mu.Unlock()
	l.cursor = cursor
	for _, b := range batches {
		b.lane = l
		l.batches = append(l.batches, b)
		w.open += len(b.Changes)
		w.bytes += b.Bytes
	}
}

// Cursor is up to where the lane was read.
func (l *Lane[P]) Cursor() P {
	l.window.mu.Lock()
	defer l.window.mu.Unlock()
	return l.cursor
}

// Seek has the lane read on from elsewhere.
func (l *Lane[P]) Seek(cursor P) {
	l.window.mu.Lock()
	defer l.window.mu.Unlock()
	l.cursor = cursor
}

// Position is up to where all is finished; idle is true when nothing that was read is not.
func (l *Lane[P]) Position() (position P, idle bool) {
	l.window.mu.Lock()
	defer l.window.mu.Unlock()
	return l.position, len(l.batches) == 0
}

// advance moves the position over what is finished. The window's lock is held.
func (l *Lane[P]) advance() (moved bool) {
	for len(l.batches) > 0 && l.batches[0].Changes == nil {
		l.position, moved = l.batches[0].Last, true
		l.batches[0] = nil
		l.batches = l.batches[1:]
	}
	if moved && len(l.batches) == 0 {
		l.position = l.cursor // what was read since was not for the feed
	}
	return moved
}
