package inflight

import "orgops/shared/storage/store"

// A company may have three times as many changes in flight as there is room for: alone three quarters of the window, next to
// another one like it three quarters of the rest. So a few companies with much work never fill the window for the others. heavy is
// the number from which a company's changes go into batches of their own, so that they hold back no other company's.
const (
	share = 3
	heavy = 32
)

// load holds what a company has in flight.
type load struct{ changes, bytes int }

// Full reports whether a company has its share in flight, or would have with so many more changes.
func (w *Window[P]) Full(company string, more int) bool { return w.over(company, more, share) }

// Busy reports whether a company has so much in flight that it is too early to read more of what was left of it.
func (w *Window[P]) Busy(company string) bool { return w.over(company, 0, 1) }

func (w *Window[P]) over(company string, more, share int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.held[company]
	return held.changes+more > share*(w.most-w.open-more) || held.bytes > share*max(maxBytes-w.bytes, 0)
}

// Calm reports whether, with so many more changes, no company could have its share in flight, and none is heavy.
func (w *Window[P]) Calm(more int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open < heavy && w.open+more <= share*(w.most-w.open-more) && w.bytes <= share*(maxBytes-w.bytes)
}

// Heavy reports whether a company's changes belong into batches of their own.
func (w *Window[P]) Heavy(company string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held[company].changes >= heavy
}

// count adds changes to what is in flight, or with the sign -1 removes them. The caller holds the lock.
func (w *Window[P]) count(changes []store.Change, sign int) {
	for i := 0; i < len(changes); {
		company, of := changes[i].Company, load{}
		for ; i < len(changes) && changes[i].Company == company; i++ {
			of.changes += sign
			of.bytes += sign * changes[i].Size()
		}
		w.open, w.bytes = w.open+of.changes, w.bytes+of.bytes
		n := w.held[company]
		if n = (load{n.changes + of.changes, n.bytes + of.bytes}); n.changes == 0 {
			delete(w.held, company)
		} else {
			w.held[company] = n
		}
	}
}
