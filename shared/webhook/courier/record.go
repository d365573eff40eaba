package courier

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// These limit what is kept while records cannot be written.
const (
	maxOpen = 4096 // tasks of the Feed in progress; their payloads take at most 80 MB
	// maxKept limits the outcomes, of at most 50 kB each. There can be more only if more attempts were in flight when the writes began
	// to fail, because a failed write stops the attempts.
	maxKept = 4096
)

var errOpen = errors.New("too many deliveries wait for their records to be written")

// records makes sure that an attempt is recorded before it is made again. It knows the tasks in progress, and the outcomes of attempts
// that could not be recorded. And it remembers whether records can be written: for each company, because a partition may be throttled,
// and for the store as a whole, because a disk may be full.
type records struct {
	mu      sync.Mutex
	open    map[recordKey]*Task
	feeds   int // those of the Feed
	kept    map[recordKey]*Task
	failing map[string]bool // companies whose last write failed
	last    string          // company of the last write of all, if it failed
	all     bool            // two companies' writes failed in a row
}

type recordKey struct{ company, key string }

func newRecords() *records {
	return &records{open: map[recordKey]*Task{}, kept: map[recordKey]*Task{}, failing: map[string]bool{}}
}

func (t *Task) record() recordKey { return recordKey{t.Company.ID(), t.Key} }

// begin registers a task. If the same delivery is in progress, begin returns false, and a task of the Feed ends with the other one.
func (r *records) begin(t *Task) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	other := r.open[t.record()]
	switch {
	case other == nil:
		r.open[t.record()] = t
		if t.Source == Feed {
			r.feeds++
		}
	case t.Source == Feed:
		other.met = append(other.met, t.Done)
	}
	return other == nil
}

// end forgets a task, and returns the functions that get its outcome too.
func (r *records) end(t *Task) (met []func(Outcome)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[t.record()] != t { // it panicked before it was registered
		return nil
	}
	if t.Source == Feed {
		r.feeds--
	}
	delete(r.open, t.record())
	return t.met
}

// full reports whether no task of the Feed may be added that waits for a write.
func (r *records) full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.feeds > maxOpen
}

// keep keeps the outcome of an attempt, unless there are too many. The next task of the delivery writes it.
func (r *records) keep(t *Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) < maxKept {
		r.kept[t.record()] = &Task{Delivery: t.Delivery, Version: t.Version} // and nothing else of the task
	}
}

// take gives a task the outcome that was kept of its delivery, and forgets it. ok is false if nothing was kept.
func (r *records) take(t *Task) (ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, ok := r.kept[t.record()]
	if ok = ok && (t.Source == Feed) == (one.Version == 0); ok { // the Feed's creates the record
		t.Delivery, t.Version = one.Delivery, one.Version
		delete(r.kept, t.record())
	}
	return ok
}

// wrote takes the result of a commit with a company's deliveries. A conflict counts as a success, because the store answered. A record
// that is too large tells nothing of the next one.
func (r *records) wrote(company string, err error) {
	if errors.Is(err, store.ErrTooLarge) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil || errors.Is(err, store.ErrConflict) {
		delete(r.failing, company)
		r.last, r.all = "", false
		return
	}
	r.all = r.all || r.last != "" && r.last != company || len(r.failing) >= maxRemembered
	if r.last = company; len(r.failing) < maxRemembered {
		r.failing[company] = true
	}
}

// writable reports whether an attempt for a company may be made without a write before it. It returns false after a write
// of the company's deliveries failed, and after writes of two companies failed in a row, until a write succeeds. The outcome
// of an attempt could then probably not be recorded. So the attempt is made only after another write has succeeded.
func (r *records) writable(company string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.all && !r.failing[company]
}

// These bound the tries to record an attempt, and the waits between them. A Lambda tries until its invocation ends. Elsewhere, an
// attempt of the Queue and the tries together take less than a claim.
const (
	firstPause = 200 * time.Millisecond // doubles with each try
	lastPause  = 5 * time.Second
	recordFor  = 30 * time.Second
	claimed    = time.Minute // for an attempt and its record

	lineTries   = 20              // of one write, because the delivery's line has changed
	joinTries   = 6               // of a delivery that joins its line; after the last one, its change is redelivered
	joinTimeout = 5 * time.Second // of one of them
)

// backoff returns the wait after a number of tries.
func backoff(tries int) time.Duration { return min(firstPause<<min(tries-1, 10), lastPause) }

// unwritten sets the wait of a message whose delivery could not be claimed, because the store refuses writes. It does not
// grow, as the wait after an error does, so that a company whose partition was throttled goes on soon.
const unwritten = 20 * time.Second

// read reads the delivery of a Queue's task. due tells when its next attempt is due; zero means that the task has no effect any more.
func (c *Courier) read(ctx context.Context, t *Task) (due time.Time, err error) {
	var d delivery.Delivery
	item, err := t.Company.Get(ctx, t.Key, &d)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, err
	case !d.Open() || d.Generation != t.Generation: // settled, or a later generation has its own message
		return time.Time{}, nil
	}
	t.Delivery, t.Version = d, item.Version
	return *d.NextAttemptAt, nil
}

// claim writes the record of a delivery before its attempt, as due again after a while. If the write fails, no attempt is
// made. If another message of the delivery has claimed it first, the write conflicts.
func (c *Courier) claim(ctx context.Context, t *Task) error {
	t.Delivery.Postpone(c.Now().Add(claimed))
	err := t.Company.Commit(ctx, t.Delivery.Save(t.Company, t.Version))
	c.records.wrote(t.slot.Company, err)
	if err == nil {
		t.Version++
	}
	return err
}

// save writes the record of a delivery, and tries again with backoff, a few times if the store refuses it. If it cannot write the
// record of an attempt, it keeps it in memory. A delivery that joins its line has no attempt, and its change is redelivered.
func (c *Courier) save(ctx context.Context, t *Task) error {
	if _, limited := ctx.Deadline(); !limited {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, recordFor)
		defer stop()
	}
	for tries := 1; ; tries++ {
		err := c.replace(ctx, t)
		if err == nil || errors.Is(err, store.ErrConflict) {
			return err
		}
		switch {
		case tries > 1: // the log has it
		case t.joins():
			c.Logger.WarnContext(ctx, "delivery not recorded; trying again", "company", t.slot.Company, "key", t.Key, "error", err)
		default:
			c.Logger.WarnContext(ctx, "attempt not recorded; trying again", "company", t.slot.Company, "key", t.Key, "error", err)
		}
		if tries >= refusals && refused(err) || tries >= joinTries && t.joins() || !wait.For(ctx, backoff(tries)) {
			if !t.joins() {
				c.records.keep(t)
			}
			return err
		}
	}
}

var errBusyLine = fmt.Errorf("%w: the delivery's line changes too often", store.ErrUnavailable)

// replace writes the record of a delivery. If the delivery is new or has ended, it joins or leaves its line in the same transaction.
func (c *Courier) replace(ctx context.Context, t *Task) (err error) {
	ctx = context.WithoutCancel(ctx)
	if t.Delivery.Line == "" { // no other delivery waits for this record
		ctx = store.Patiently(ctx)
	}
	if t.joins() { // the turn and the room of its line wait for it
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, joinTimeout)
		defer stop()
	}
	for range lineTries {
		d, lines := t.Delivery, delivery.NewLines(t.Company)
		if t.joins() {
			err = lines.Join(ctx, &d, c.Now().UTC())
		} else {
			err = lines.Leave(ctx, d, c.Now())
		}
		if err != nil {
			return err
		}
		err = t.Company.Commit(ctx, lines.Ops(d.Save(t.Company, t.Version))...)
		if conflict, ok := errors.AsType[*store.ConflictError](err); ok && conflict.Index > 0 {
			continue
		}
		c.records.wrote(t.slot.Company, err)
		if err == nil {
			c.count(&d)
		}
		return err
	}
	return errBusyLine
}

// settle returns the outcome of a task after a write of its delivery. After a success the record has its own message if another
// attempt is due. After a conflict a tenant or another worker has changed the delivery, which goes on with their change. But a message
// waits if another one has claimed the delivery: that one's worker may end without its attempt.
func (c *Courier) settle(ctx context.Context, t *Task, written error) Outcome {
	switch {
	case !errors.Is(written, store.ErrConflict):
		return Outcome{Err: written}
	case t.Source == Backlog:
		return Outcome{}
	}
	due, err := c.read(context.WithoutCancel(ctx), t)
	if !due.IsZero() && !due.After(c.Now()) {
		due = c.soon()
	}
	return Outcome{Until: due, Err: err}
}
