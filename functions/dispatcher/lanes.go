package dispatcher

import (
	"slices"
	"sync"
	"time"

	"orgops/shared/webhook/courier"
)

// These bound the waiting jobs. A job that exceeds them goes to the queue.
const (
	maxWaiting     = 1024             // for one endpoint
	maxWaitingSize = 1 << 20          // bytes of their payloads
	maxQueued      = 4096             // in all lanes: half of what the feed hands out
	longestWait    = 10 * time.Second // twice the time of an attempt; a waiting job keeps its batch unfinished
	relieveEvery   = 250 * time.Millisecond
)

// lanes gives each endpoint its own line of jobs. A job that has a slot is in flight; the other jobs wait in their lane.
type lanes struct {
	now     func() time.Time
	slots   *courier.Slots
	attempt func(*job)

	mu     sync.Mutex
	lanes  map[courier.EndpointKey]*lane // those with waiting jobs
	queued int                           // jobs waiting
	closed bool                          // jobs must not wait any more
}

type lane struct {
	waiting []*job // the oldest first
	size    int    // bytes of their payloads
}

func newLanes(slots *courier.Slots, now func() time.Time, attempt func(*job)) *lanes {
	return &lanes{now: now, slots: slots, attempt: attempt, lanes: map[courier.EndpointKey]*lane{}}
}

// submit attempts the job, at once or when its endpoint has a free slot. It returns false, without effect, if the lane is
// full. One lane may hold as many jobs as all lanes have room for.
func (l *lanes) submit(j *job) bool {
	key := j.endpoint.Key()
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lanes[key]
	if ln == nil && l.slots.TryAcquire(key, courier.Feed) {
		go l.work(j)
		return true
	}
	if ln == nil {
		ln = &lane{}
	}
	if l.closed || len(ln.waiting) >= min(maxWaiting, maxQueued-l.queued) || ln.size >= maxWaitingSize {
		return false
	}
	j.waits = l.now()
	ln.waiting = append(ln.waiting, j)
	ln.size += len(j.delivery.Payload)
	l.queued++
	l.lanes[key] = ln
	return true
}

// work attempts jobs of a lane, one after the other, as long as one gets a slot.
func (l *lanes) work(j *job) {
	for j != nil {
		l.attempt(j)
		j = l.next(j.endpoint.Key())
	}
}

// next releases a slot. It returns the lane's next job if the job gets a slot. The endpoint's answer may have made room for
// more jobs, which next starts.
func (l *lanes) next(key courier.EndpointKey) *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slots.Release(key, courier.Feed)
	j := l.admit(key)
	if j != nil {
		l.start(key)
	}
	return j
}

// start starts every waiting job of a lane that gets a slot.
func (l *lanes) start(key courier.EndpointKey) {
	for j := l.admit(key); j != nil; j = l.admit(key) {
		go l.work(j)
	}
}

// admit takes a slot for the lane's first job and removes the job; nil if no job waits or no slot is free.
func (l *lanes) admit(key courier.EndpointKey) *job {
	ln := l.lanes[key]
	if ln == nil || !l.slots.TryAcquire(key, courier.Feed) {
		return nil
	}
	return l.take(key, ln, 1)[0]
}

// relieve starts jobs for which other companies, endpoints or the queue have left slots. It removes and returns jobs that
// have waited for too long.
func (l *lanes) relieve() (expired []*job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for key, ln := range l.lanes {
		l.start(key)
		n := 0
		for n < len(ln.waiting) && now.Sub(ln.waiting[n].waits) > longestWait {
			n++
		}
		expired = append(expired, l.take(key, ln, n)...)
	}
	return expired
}

// close removes and returns every waiting job. After that, submit accepts only jobs that need not wait.
func (l *lanes) close() (jobs []*job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for key, ln := range l.lanes {
		jobs = append(jobs, l.take(key, ln, len(ln.waiting))...)
	}
	return jobs
}

// take removes and returns the first n jobs of a lane.
func (l *lanes) take(key courier.EndpointKey, ln *lane, n int) []*job {
	jobs := slices.Clone(ln.waiting[:n])
	clear(ln.waiting[:n])
	ln.waiting = ln.waiting[n:]
	for _, j := range jobs {
		ln.size -= len(j.delivery.Payload)
	}
	if l.queued -= n; len(ln.waiting) == 0 {
		delete(l.lanes, key)
	}
	return jobs
}
