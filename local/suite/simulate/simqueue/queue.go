// Package simqueue simulates a pair of standard SQS queues, one for messages and one for dead letters, in memory. Queue has
// the operations of SQS; Driver implements the contract of the queue with them.
package simqueue

import (
	"strconv"
	"sync"
	"time"

	"orgops/shared/storage/queue"
)

// Settings of SQS.
const (
	MaxDelay    = 15 * time.Minute
	MaxReceives = 100 // then SQS moves a message to the dead letters
)

// Lineage counts the invocations of each function that led to a message, in one chain. Lambda and SQS carry it in the trace header.
type Lineage map[string]int

// Queue holds messages. Its methods are safe for concurrent use. A caller passes the time.
type Queue struct {
	mu       sync.Mutex
	last     int // message
	leases   int
	messages []*stored // in the order of their arrival
	dead     []queue.DeadLetter
	sent     chan struct{} // closed and replaced when a message is sent
}

// stored holds a message until it is deleted.
type stored struct {
	queue.Message
	id       string
	visible  time.Time // when it may be received
	receives int
	receipt  string // of the last lease
	lineage  Lineage
}

// Leased holds a message that a receiver has.
type Leased struct {
	queue.Received
	ID      string
	Lineage Lineage // of the invocation that sent the message
}

// New makes an empty queue.
func New() *Queue { return &Queue{sent: make(chan struct{})} }

// Delay returns how long SQS is asked to hide a message that is due at a time: at most MaxDelay, in whole seconds. So a
// message may be visible before it is due.
func Delay(now, due time.Time) time.Duration {
	if due.IsZero() {
		return 0
	}
	return (max(min(due.Sub(now), MaxDelay), 0) + time.Second - 1).Truncate(time.Second)
}

// Send stores a message, which becomes visible after a delay. lineage is that of the sender; nil outside of Lambda.
func (q *Queue) Send(now time.Time, delay time.Duration, m queue.Message, lineage Lineage) (id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.send(now, delay, m, lineage)
}

func (q *Queue) send(now time.Time, delay time.Duration, m queue.Message, lineage Lineage) string {
	q.last++
	s := &stored{Message: m, id: "m" + strconv.Itoa(q.last), visible: now.Add(delay), lineage: lineage}
	q.messages = append(q.messages, s)
	q.wake()
	return s.id
}

// wake lets a waiting receiver look again. The caller holds mu.
func (q *Queue) wake() {
	close(q.sent)
	q.sent = make(chan struct{})
}

// Copy delivers a message once more, as a standard queue may. The copy keeps the message's id. It does nothing if the message
// was deleted.
func (q *Queue) Copy(id string, visible time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.messages {
		if s.id == id {
			again := *s
			again.visible = visible
			q.messages = append(q.messages, &again)
			return
		}
	}
}

// Visible returns the ids of the messages that a receiver can get now.
func (q *Queue) Visible(now time.Time) (ids []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.messages {
		if !s.visible.After(now) {
			ids = append(ids, s.id)
		}
	}
	return ids
}

// Next returns when the next message becomes visible; ok is false without messages.
func (q *Queue) Next() (at time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.messages {
		if !ok || s.visible.Before(at) {
			at, ok = s.visible, true
		}
	}
	return at, ok
}

// Take leases up to most visible messages that keep allows. nil allows all. A message that was received too often becomes a
// dead letter.
func (q *Queue) Take(now time.Time, most int, lease time.Duration, keep func(body []byte) bool) (taken []Leased) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var rest []*stored
	for _, s := range q.messages {
		if s.visible.After(now) || len(taken) == most || keep != nil && !keep(s.Body) {
			rest = append(rest, s)
			continue
		}
		if s.receives >= MaxReceives {
			q.dead = append(q.dead, queue.DeadLetter{Message: s.Message, Reason: "received too often", BuriedAt: now})
			continue
		}
		s.receives++
		q.leases++
		s.visible, s.receipt = now.Add(lease), s.id+"/"+strconv.Itoa(q.leases)
		taken = append(taken, Leased{ID: s.id, Lineage: s.lineage, Received: queue.Received{Message: s.Message, Receives: s.receives, Receipt: s.receipt}})
		rest = append(rest, s)
	}
	q.messages = rest
	return taken
}

// Delete removes the message of a receipt. It ignores a receipt whose message was received again.
func (q *Queue) Delete(receipt string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, s := range q.messages {
		if s.receipt == receipt {
			q.messages = append(q.messages[:i:i], q.messages[i+1:]...)
			return
		}
	}
}

// Hide makes the message of a receipt visible at a time. It ignores a receipt whose message was received again.
func (q *Queue) Hide(receipt string, until time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.messages {
		if s.receipt == receipt {
			s.visible = until
		}
	}
	q.wake()
}

// Messages returns every message that is not deleted.
func (q *Queue) Messages() (all []queue.Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.messages {
		all = append(all, s.Message)
	}
	return all
}

// Dead returns the dead letters, the oldest first.
func (q *Queue) Dead() []queue.DeadLetter {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]queue.DeadLetter{}, q.dead...)
}

// Bury stores a dead letter.
func (q *Queue) Bury(now time.Time, m queue.Message, reason string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dead = append(q.dead, queue.DeadLetter{Message: m, Reason: reason, BuriedAt: now})
}

// Redrive sends every dead letter again and returns their number.
func (q *Queue) Redrive(now time.Time) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	letters := q.dead
	q.dead = nil
	for _, l := range letters {
		l.Due = time.Time{}
		q.send(now, 0, l.Message, nil)
	}
	return len(letters)
}

// arrival returns a channel that is closed when the next message is sent.
func (q *Queue) arrival() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.sent
}
