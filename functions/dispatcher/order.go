package dispatcher

import (
	"context"
	"errors"
	"sync"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// joining bounds how many deliveries join their lines at once.
const joining = 16

// These bound the tries to write a delivery of a line. After the last one, its change is redelivered.
const (
	joinTries   = 6
	lineTries   = 20 // if only the line has changed meanwhile
	joinTimeout = 5 * time.Second
)

var errLineBroken = errors.New("an earlier delivery of the line is not recorded yet")

// queues put the deliveries of ordered endpoints into their lines, in the order in which the feed hands out their changes. A
// delivery that cannot be recorded stops its line: later ones fail and are redelivered, until a process has recorded it.
type queues struct {
	join  func(*job) error
	end   func(*job, error) // gets each job with the result
	slots chan struct{}

	mu     sync.Mutex
	open   map[lineKey][]*job // the first is being recorded
	broken map[lineKey]*job   // the delivery that could not be recorded
}

type lineKey struct{ company, line string }

func newQueues(join func(*job) error, end func(*job, error)) *queues {
	return &queues{join: join, end: end, slots: make(chan struct{}, joining), open: map[lineKey][]*job{}, broken: map[lineKey]*job{}}
}

func lineOf(j *job) lineKey { return lineKey{j.endpoint.Company.ID(), delivery.LineKey(j.delivery)} }

// add puts a job at the end of its line's queue. Calls for one line must come in the order of its changes.
func (q *queues) add(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	key := lineOf(j)
	waiting := q.open[key]
	q.open[key] = append(waiting, j)
	if len(waiting) == 0 {
		go q.run(key)
	}
}

// run records the jobs of a line, one after the other.
func (q *queues) run(key lineKey) {
	for j := q.first(key); j != nil; j = q.next(key) {
		q.slots <- struct{}{}
		err := q.record(key, j)
		<-q.slots
		q.end(j, err)
	}
}

// first returns the job in front; nil, and the queue is gone, if no job waits.
func (q *queues) first(key lineKey) *job {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.open[key]) == 0 {
		delete(q.open, key)
		return nil
	}
	return q.open[key][0]
}

func (q *queues) next(key lineKey) *job {
	q.mu.Lock()
	q.open[key] = q.open[key][1:]
	q.mu.Unlock()
	return q.first(key)
}

// record writes one delivery, and remembers it if that fails.
func (q *queues) record(key lineKey, j *job) error {
	if err := q.unbroken(key, j); err != nil {
		return err
	}
	err := q.join(j)
	if err != nil {
		q.mu.Lock()
		q.broken[key] = j
		q.mu.Unlock()
	}
	return err
}

// unbroken returns nil if the line is not broken, if j is the delivery that broke it, or if another process has recorded that
// one meanwhile.
func (q *queues) unbroken(key lineKey, j *job) error {
	q.mu.Lock()
	broken := q.broken[key]
	q.mu.Unlock()
	if broken == nil {
		return nil
	}
	if broken.key() != j.key() {
		_, err := j.endpoint.Company.Get(context.Background(), broken.key(), nil)
		if errors.Is(err, store.ErrNotFound) {
			return errLineBroken
		}
		if err != nil {
			return err
		}
	}
	q.mu.Lock()
	delete(q.broken, key)
	q.mu.Unlock()
	return nil
}

// join records a delivery at the end of its line. The retrier makes the first attempt, when the delivery is the head. A
// delivery that is already recorded stays as it is.
func (d *Dispatcher) join(j *job) error {
	ctx := context.Background() // a batch is finished during shutdown too: see Handle
	pause := firstPause
	for try := 1; ; try++ {
		err := d.joinOnce(ctx, j)
		d.Courier.Recorded(j.endpoint.Company.ID(), err)
		var conflict *store.ConflictError
		switch changed := errors.As(err, &conflict); {
		case err == nil, changed && conflict.Key == j.key():
			return nil
		case changed && try < lineTries:
		case try >= joinTries:
			return err
		default:
			wait.For(ctx, pause)
			pause = min(2*pause, lastPause)
		}
	}
}

func (d *Dispatcher) joinOnce(ctx context.Context, j *job) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	company, one := j.endpoint.Company, j.delivery
	lines := delivery.NewLines(company)
	if err := lines.Join(ctx, &one, d.Now().UTC()); err != nil {
		return err
	}
	op := company.Create(j.key(), delivery.Entity, one).Until(one.Expires())
	err := company.Commit(ctx, append([]store.Op{op}, lines.Ops()...)...)
	if err == nil {
		d.Courier.Stored(&one)
	}
	return err
}
