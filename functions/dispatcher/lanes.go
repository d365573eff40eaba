package dispatcher

import (
	"sync"
	"time"

	"orgops/shared/webhook/courier"
)

// These bound the waiting jobs. A job that exceeds them goes to the queue.
const (
	maxWaiting     = 1024                   // for one endpoint
	maxWaitingSize = 1 << 20                // bytes of their payloads
	maxQueued      = 4096                   // in all lanes: half of what the feed hands out
	stalledAfter   = 500 * time.Millisecond // if all slots of an endpoint are taken and it makes no progress for so long, new jobs go to the queue
	givenUpAfter   = 2 * time.Second        // if it makes no progress for so long, waiting jobs go to the queue too
	relieveEvery   = 250 * time.Millisecond
)

// bounds returns the slot limits, which keep one tenant from taking the slots of the others.
func bounds() courier.Bounds { return courier.Bounds{PerEndpoint: 16, PerCompany: 32, Total: 1024} }

// lanes gives each endpoint its own line of jobs. A job that has a slot is in flight; the other jobs wait.
type lanes struct {
	now   func() time.Time
	slots *courier.Slots

	mu     sync.Mutex
	lanes  map[courier.EndpointKey]*lane
	queued int  // jobs waiting
	closed bool // jobs must not wait any more
}

type lane struct {
	key     courier.EndpointKey
	workers int // each holds a slot
	waiting []*job
	size    int       // bytes of their payloads
	moved   time.Time // when the endpoint last accepted a delivery, or the lane was opened
}

func newLanes(now func() time.Time) *lanes {
	return &lanes{now: now, slots: courier.NewSlots(bounds()), lanes: map[courier.EndpointKey]*lane{}}
}

// submit runs attempt for the job, at once or when its lane has a free slot. It returns false, without effect, if the lane
// is full or stalled. attempt reports whether the lane makes progress.
func (l *lanes) submit(j *job, attempt func(*job) bool) bool {
	key := j.endpoint.Key()
	l.mu.Lock()
	defer l.mu.Unlock()
	free := l.slots.TryAcquire(key)
	ln := l.lanes[key]
	if ln == nil {
		if !free {
			return false
		}
		ln = &lane{key: key, moved: l.now()}
		l.lanes[key] = ln
	}
	if free {
		ln.workers++
		go l.work(ln, j, attempt)
		return true
	}
	full := len(ln.waiting) >= maxWaiting || ln.size >= maxWaitingSize || l.queued >= maxQueued
	if full || l.closed || l.now().Sub(ln.moved) > stalledAfter {
		return false
	}
	ln.waiting = append(ln.waiting, j)
	ln.size += len(j.delivery.Payload)
	l.queued++
	return true
}

// stalled removes and returns the waiting jobs of lanes that have made no progress for too long.
func (l *lanes) stalled() []*job {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	return l.take(func(ln *lane) bool { return now.Sub(ln.moved) > givenUpAfter })
}

// close removes and returns every waiting job. After that, submit accepts only jobs that need not wait.
func (l *lanes) close() []*job {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.take(func(*lane) bool { return true })
}

func (l *lanes) take(which func(*lane) bool) (jobs []*job) {
	for _, ln := range l.lanes {
		if len(ln.waiting) > 0 && which(ln) {
			jobs = append(jobs, ln.waiting...)
			l.queued -= len(ln.waiting)
			ln.waiting, ln.size = nil, 0
		}
	}
	return jobs
}

// work runs jobs of a lane until no job waits.
func (l *lanes) work(ln *lane, j *job, attempt func(*job) bool) {
	for j != nil {
		moved := attempt(j)
		j = l.next(ln, moved)
	}
}

// next returns the lane's next job. If no job waits, it releases the slot and returns nil.
func (l *lanes) next(ln *lane, moved bool) *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	if moved {
		ln.moved = l.now()
	}
	if len(ln.waiting) > 0 {
		j := ln.waiting[0]
		ln.waiting[0] = nil
		ln.waiting = ln.waiting[1:]
		ln.size -= len(j.delivery.Payload)
		l.queued--
		return j
	}
	l.slots.Release(ln.key)
	if ln.workers--; ln.workers == 0 {
		delete(l.lanes, ln.key)
	}
	return nil
}
