package ticker

import (
	"context"
	"sync"
)

// maxWaiting limits the bytes of the timers that wait in lanes. So many are read ahead that a company with many timers, which may lie
// before the others', is not the only company whose timers are known.
const maxWaiting = 8 << 20

// lanes hold due timers until a worker takes them: the companies in turn, and the timers about one thing one after the other. A worker
// that has taken a timer must call done for it.
type lanes struct {
	mu     sync.Mutex
	moved  *sync.Cond
	things map[string][]due    // by what the timers are about; the first may be with a worker
	ready  map[string][]string // things by company, without those of which a worker has a timer
	turn   []string            // companies with a ready thing
	bytes  int
	full   bool // no more timers come
	over   bool // no more timers are given out
}

// newLanes returns lanes that give out timers until ctx ends.
func newLanes(ctx context.Context) *lanes {
	l := &lanes{things: map[string][]due{}, ready: map[string][]string{}}
	l.moved = sync.NewCond(&l.mu)
	context.AfterFunc(ctx, func() { l.change(func() { l.over = true }) })
	return l
}

func (l *lanes) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	l.moved.Broadcast()
}

// room waits until more timers may wait. It returns false if none are needed.
func (l *lanes) room() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.bytes > maxWaiting && !l.over {
		l.moved.Wait()
	}
	return !l.over
}

// put adds timers.
func (l *lanes) put(all ...due) {
	l.change(func() {
		for _, d := range all {
			about := d.timer.About()
			if len(l.things[about]) == 0 {
				l.offer(d.timer.Company, about)
			}
			l.things[about] = append(l.things[about], d)
			l.bytes += size(d)
		}
	})
}

// offer lets workers take the first timer about a thing.
func (l *lanes) offer(company, about string) {
	if len(l.ready[company]) == 0 {
		l.turn = append(l.turn, company)
	}
	l.ready[company] = append(l.ready[company], about)
}

// close tells that no more timers come.
func (l *lanes) close() { l.change(func() { l.full = true }) }

// take waits for a timer. It returns false if no further timer comes.
func (l *lanes) take() (due, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.turn) == 0 && !l.over && (!l.full || len(l.things) > 0) {
		l.moved.Wait()
	}
	if l.over || len(l.turn) == 0 {
		return due{}, false
	}
	company := l.turn[0]
	about := l.ready[company][0]
	l.turn, l.ready[company] = l.turn[1:], l.ready[company][1:]
	if len(l.ready[company]) > 0 {
		l.turn = append(l.turn, company)
	} else {
		delete(l.ready, company)
	}
	return l.things[about][0], true
}

// done removes a timer that a worker has taken.
func (l *lanes) done(d due) {
	l.change(func() {
		about := d.timer.About()
		l.bytes -= size(d)
		if rest := l.things[about][1:]; len(rest) > 0 {
			l.things[about] = rest
			l.offer(d.timer.Company, about)
		} else {
			delete(l.things, about)
		}
	})
}

// size estimates the memory of a timer.
func size(d due) int { return 2*len(d.item.Body) + len(d.item.Key) + 200 }
