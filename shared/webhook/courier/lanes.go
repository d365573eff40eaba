package courier

import (
	"slices"
	"time"
)

// These bound the waiting tasks. A task that exceeds them is recorded as due later.
const (
	maxWaiting     = 1024             // for one endpoint
	maxWaitingSize = 1 << 20          // bytes of their payloads
	maxQueued      = 4096             // in all lanes: half of what the feed hands out
	longestWait    = 10 * time.Second // twice the time of an attempt; a waiting task keeps its batch unfinished
	relieveEvery   = 250 * time.Millisecond
)

// lane holds the Feed's tasks that wait for a slot of their endpoint.
type lane struct {
	waiting []*Task // the oldest first
	size    int     // bytes of their payloads
}

// enter starts a task that gets a slot, and gives another a place in its endpoint's lane. ok is false, and nothing is done, if the
// lane is full. One lane may hold as many tasks as all lanes have room for.
func (s *slots) enter(t *Task) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ln := s.lanes[t.slot]
	if ln == nil && s.acquire(t.slot, Feed) {
		go s.work(t)
		return true
	}
	if ln == nil {
		ln = &lane{}
	}
	if s.closed || len(ln.waiting) >= min(maxWaiting, maxQueued-s.queued) || ln.size >= maxWaitingSize {
		return false
	}
	t.waits = s.now()
	ln.waiting = append(ln.waiting, t)
	ln.size += len(t.Delivery.Payload)
	s.queued++
	s.lanes[t.slot] = ln
	return true
}

// next releases a slot of the Feed. It returns the lane's next task if the task gets a slot. The endpoint's answer may have made room
// for more tasks, which next starts.
func (s *slots) next(e EndpointKey) *Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free(e, Feed)
	t := s.pop(e)
	if t != nil {
		s.begin(e)
	}
	return t
}

// begin starts every waiting task of a lane that gets a slot.
func (s *slots) begin(e EndpointKey) {
	for t := s.pop(e); t != nil; t = s.pop(e) {
		go s.work(t)
	}
}

// pop takes a slot for the lane's first task and removes the task; nil if no task waits or no slot is free.
func (s *slots) pop(e EndpointKey) *Task {
	ln := s.lanes[e]
	if ln == nil || !s.acquire(e, Feed) {
		return nil
	}
	return s.remove(e, ln, 1)[0]
}

// relieve starts tasks for which other companies, endpoints or the Queue have left slots. It removes and returns tasks that
// have waited for too long.
func (s *slots) relieve() (expired []*Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for e, ln := range s.lanes {
		s.begin(e)
		n := 0
		for n < len(ln.waiting) && now.Sub(ln.waiting[n].waits) > longestWait {
			n++
		}
		expired = append(expired, s.remove(e, ln, n)...)
	}
	return expired
}

// close removes and returns every waiting task. After that, no task gets a place in a lane.
func (s *slots) close() (tasks []*Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for e, ln := range s.lanes {
		tasks = append(tasks, s.remove(e, ln, len(ln.waiting))...)
	}
	return tasks
}

// remove removes and returns the first n tasks of a lane.
func (s *slots) remove(e EndpointKey, ln *lane, n int) []*Task {
	tasks := slices.Clone(ln.waiting[:n])
	clear(ln.waiting[:n])
	ln.waiting = ln.waiting[n:]
	for _, t := range tasks {
		ln.size -= len(t.Delivery.Payload)
	}
	if s.queued -= n; len(ln.waiting) == 0 {
		delete(s.lanes, e)
	}
	return tasks
}
