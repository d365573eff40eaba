package simulate_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"
)

// scheduler decides the order of everything that happens in a simulation. A goroutine that asks something of the world
// waits in the list of calls. When all goroutines wait, the scheduler takes one call, or one action of the world itself, by
// the seed. When there is nothing to take, virtual time passes.
type scheduler struct {
	random *rand.Rand // only the scheduler's goroutine uses it
	trace  trace
	agenda agenda // of the current step

	mu    sync.Mutex
	calls []*call
	wake  chan struct{}
	steps int

	ambiguous string // a name of two calls
}

// call holds a request of a goroutine to the world.
type call struct {
	id      string // the same in every run of the seed
	step    int    // at which it was made
	kind    kind
	env     *environment // nil: a client
	at      time.Time    // not before
	held    bool         // its fate was decided, only its time has not come
	refusal error        // what the caller gets when it is throttled
	do      func() error // its effect, which is made in a step of the scheduler
	done    chan error
}

// kind says which faults a call may have.
type kind int

const (
	gate   kind = iota // nothing is asked; it orders the starts of goroutines
	read               // of the store
	commit             // to the store
	send               // to a queue
	remove             // from a queue
	hide               // a message of a queue
	post               // to a receiver
	fetch              // from a provider
	keys               // to the key service
)

func (k kind) String() string {
	return [...]string{"gate", "read", "commit", "send", "remove", "hide", "post", "fetch", "keys"}[k]
}

// ask makes a call and waits for its result.
func (s *scheduler) ask(ctx context.Context, c *call) error {
	c.done = make(chan error, 1)
	s.mu.Lock()
	dead := c.env != nil && c.env.dead
	c.step = s.steps
	if !dead {
		s.calls = append(s.calls, c)
	}
	s.mu.Unlock()
	if dead {
		return errKilled
	}
	s.signal()
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		s.drop(c)
		return ctx.Err()
	}
}

func (s *scheduler) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *scheduler) drop(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = slices.DeleteFunc(s.calls, func(other *call) bool { return other == c })
}

// answer ends the wait of a call.
func (s *scheduler) answer(c *call, err error) {
	s.drop(c)
	c.done <- err
}

// action is something that can happen now.
type action struct {
	id  string
	run func()
}

// agenda collects what can happen now, and the time of what can happen next.
type agenda struct {
	now   time.Time
	ready []action
	next  time.Time // zero: nothing will happen by itself
}

// due reports whether something that is possible from a time on is possible now. If it is not, the agenda remembers the time.
// Most things are not due at a step, so a caller asks before it makes the action.
func (a *agenda) due(at time.Time) bool {
	if !at.After(a.now) {
		return true
	}
	if a.next.IsZero() || at.Before(a.next) {
		a.next = at
	}
	return false
}

// add adds an action that is possible now.
func (a *agenda) add(id string, run func()) { a.ready = append(a.ready, action{id, run}) }

// step makes one thing happen, or lets time pass until something can, but not beyond end. It returns false when nothing can
// happen before end.
func (s *scheduler) step(end time.Time, list func(*agenda)) bool {
	synctest.Wait()
	a := &s.agenda
	a.now, a.ready, a.next = time.Now(), a.ready[:0], time.Time{}
	list(a)
	if len(a.ready) > 0 {
		s.mu.Lock()
		s.steps++
		s.mu.Unlock()
		slices.SortStableFunc(a.ready, func(x, y action) int { return strings.Compare(x.id, y.id) })
		a.ready[s.random.IntN(len(a.ready))].run()
		return true
	}
	if a.next.IsZero() || a.next.After(end) {
		return false
	}
	timer := time.NewTimer(a.next.Sub(a.now))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.wake:
	}
	return true
}

// pending returns the calls that wait, in the order of their names, and of the steps at which they were made. Two calls of
// one name and step could not be told apart in another run, so there must be none.
func (s *scheduler) pending() []*call {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.calls, func(a, b *call) int { return cmp.Or(strings.Compare(a.id, b.id), cmp.Compare(a.step, b.step)) })
	for i := 1; i < len(s.calls); i++ {
		if s.calls[i].id == s.calls[i-1].id && s.calls[i].step == s.calls[i-1].step {
			s.ambiguous = s.calls[i].id
		}
	}
	return slices.Clone(s.calls)
}

// chance reports true with the given probability.
func (s *scheduler) chance(p float64) bool { return p > 0 && s.random.Float64() < p }

// between returns a time between two, with more short ones than long ones.
func (s *scheduler) between(least, most time.Duration) time.Duration {
	f := s.random.Float64()
	return least + time.Duration(f*f*f*float64(most-least))
}

// trace holds what has happened, a line for each step.
type trace struct {
	start time.Time
	lines []entry
}

// entry holds what a line of the trace says. It becomes text only when the trace is printed, because most traces never are. So
// its values must not change.
type entry struct {
	after  time.Duration
	format string
	values []any
}

func (e entry) String() string {
	return fmt.Sprintf("%v ", e.after) + fmt.Sprintf(e.format, e.values...)
}

func (t *trace) add(format string, values ...any) {
	t.lines = append(t.lines, entry{time.Since(t.start), format, values})
}

// text returns the last lines.
func (t *trace) text(n int) (all []string) {
	for _, e := range t.lines[max(0, len(t.lines)-n):] {
		all = append(all, e.String())
	}
	return all
}

// tail returns the last lines as one text.
func (t *trace) tail(n int) string { return strings.Join(t.text(n), "\n") }
