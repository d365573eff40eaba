package dispatcher

import (
	"sync"
	"time"
)

// Bounds on what is under way, so that nobody can fill the slots of the others. What does not fit goes to the queue.
const (
	maxPerEndpoint = 16
	maxPerCompany  = 32
	maxTotal       = 1024
	maxWaiting     = 1024                   // for one endpoint
	maxWaitingSize = 1 << 20                // bytes of their payloads
	maxQueued      = 4096                   // waiting altogether: half of what the feed hands out
	stalledAfter   = 500 * time.Millisecond // all of an endpoint's slots taken and nothing finished for so long
	givenUpAfter   = 2 * time.Second        // so long, and what waits there is spilled too
	relieveEvery   = 250 * time.Millisecond
)

// lanes gives each endpoint a line of its own: up to maxPerEndpoint attempts at a time, the others waiting behind.
type lanes struct {
	mu        sync.Mutex
	now       func() time.Time
	lanes     map[laneKey]*lane
	companies map[string]int // attempts under way
	total     int
	queued    int  // jobs waiting
	closed    bool // nothing waits any more
}

type laneKey struct{ company, endpoint string }

type lane struct {
	key     laneKey
	active  int
	waiting []*job
	size    int       // bytes of their payloads
	moved   time.Time // when an attempt last succeeded, or the lane was opened
}

func newLanes(now func() time.Time) *lanes {
	return &lanes{now: now, lanes: map[laneKey]*lane{}, companies: map[string]int{}}
}

// submit has attempt run for the job, now or when its lane has a free slot; false means that the lane is full or
// stalled, and nothing was done. attempt reports whether the endpoint took the delivery.
func (l *lanes) submit(j *job, attempt func(*job) bool) bool {
	key := laneKey{j.endpoint.Company.ID(), j.endpoint.Provider}
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lanes[key]
	if ln == nil {
		if l.total >= maxTotal || l.companies[key.company] >= maxPerCompany {
			return false
		}
		ln = &lane{key: key, moved: l.now()}
		l.lanes[key] = ln
	}
	if ln.active < maxPerEndpoint && l.companies[key.company] < maxPerCompany && l.total < maxTotal {
		ln.active++
		l.companies[key.company]++
		l.total++
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

// stalled takes what waits in lanes where nothing has succeeded for too long.
func (l *lanes) stalled() []*job {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	return l.take(func(ln *lane) bool { return now.Sub(ln.moved) > givenUpAfter })
}

// close takes everything that waits; from now on nothing does.
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

// work runs jobs of a lane until none waits.
func (l *lanes) work(ln *lane, j *job, attempt func(*job) bool) {
	for j != nil {
		ok := attempt(j)
		j = l.next(ln, ok)
	}
}

// next is the lane's next job, nil when the slot is given back.
func (l *lanes) next(ln *lane, ok bool) *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ok {
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
	ln.active--
	l.total--
	if l.companies[ln.key.company]--; l.companies[ln.key.company] == 0 {
		delete(l.companies, ln.key.company)
	}
	if ln.active == 0 {
		delete(l.lanes, ln.key)
	}
	return nil
}
