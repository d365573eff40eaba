package sqlitestore

import (
	"context"
	"slices"

	"orgops/shared/storage/store"
	"orgops/shared/storage/store/inflight"
)

type batch = inflight.Batch[int64]

// behind follows a company that had its share of the changes in flight. The consumer leaves the company's next changes in the log, and
// goes on with those of the others. It reads what it has left when much of the share is finished. Until then its stored position stays
// before these changes.
type behind struct {
	track *inflight.Track[int64]
	done  bool // what was left is read; the batches in flight are not finished
}

// maxScan limits the sequences in which one read looks for the changes of a company.
const maxScan = 16 << 10

// pick returns the changes to hand over now, and leaves the others for catchUp.
func (c *consumer) pick(changes []logged) []logged {
	picked := make(map[string]int, 1)
	return slices.DeleteFunc(changes, func(l logged) bool {
		company := l.change.Company
		if b := c.behind[company]; b != nil && !b.done {
			return true
		}
		if c.window.Full(company, picked[company]+1) {
			c.leave(company, l.seq-1)
			return true
		}
		picked[company]++
		return false
	})
}

// leave leaves a company's changes after a sequence in the log.
func (c *consumer) leave(company string, after int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.behind[company]; b != nil {
		b.track.Pass(after)
		b.done = false
		return
	}
	c.behind[company] = &behind{track: c.window.Track(after)}
}

// catchUp admits changes that were left in the log, of the first company that has room for them.
func (c *consumer) catchUp(ctx context.Context, n int) ([]*batch, error) {
	for company, b := range c.behind {
		if b.done {
			c.rejoin(company, b)
			continue
		}
		if c.window.Busy(company) {
			continue
		}
		changes, to, err := c.readLeft(ctx, company, b.track.Cursor(), n)
		if err != nil {
			return nil, err
		}
		var batches []*batch
		if len(changes) == 0 {
			b.track.Pass(to)
		} else {
			batches = []*batch{c.batch(changes, to)}
			b.track.Admit(to, batches...)
		}
		if to == c.cursor {
			c.rejoin(company, b)
		}
		if batches != nil {
			return batches, nil
		}
	}
	return nil, nil
}

// readLeft returns up to n changes of a company that were left after a sequence, and the sequence up to which it has looked. The
// changes lie either all before the horizon or all after it.
func (c *consumer) readLeft(ctx context.Context, company string, from int64, n int) (changes []logged, to int64, err error) {
	to = min(c.cursor, from+maxScan)
	if from < c.horizon {
		to = min(to, c.horizon)
	}
	if changes, err = c.store.readLog(ctx, company, from, to, n); err != nil {
		return nil, 0, err
	}
	size := 0
	for _, l := range changes {
		size += l.size
	}
	if len(changes) == n || size >= maxBatchBytes {
		to = changes[len(changes)-1].seq
	}
	return changes, to, nil
}

// rejoin lets the consumer read the company's further changes with those of the others. The track stays until its batches are finished,
// so that the position stays before them.
func (c *consumer) rejoin(company string, b *behind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.done = true
	if _, idle := b.track.Position(); idle {
		c.window.Remove(b.track)
		delete(c.behind, company)
	}
}

// finished returns the sequence up to which every change is finished.
func (c *consumer) finished() int64 {
	at, _ := c.track.Position() // before the tracks of behind: a change is left to them before the track passes it
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.behind {
		left, _ := b.track.Position()
		at = min(at, left)
	}
	return at
}

// batches makes batches of changes that were read after the sequence from, up to the sequence to: one of each company that has much in
// flight, and one of all others. The position moves when all of them are finished.
func (c *consumer) batches(changes []logged, from, to int64) (out []*batch) {
	var own map[string][]logged
	rest := slices.DeleteFunc(changes, func(l logged) bool {
		company := l.change.Company
		if c.window.Heavy(company) {
			if own == nil {
				own = make(map[string][]logged)
			}
			own[company] = append(own[company], l)
			return true
		}
		return false
	})
	if len(rest) > 0 {
		out = append(out, c.batch(rest, from))
	}
	for _, changes := range own {
		out = append(out, c.batch(changes, from))
	}
	if n := len(out); n > 0 {
		out[n-1].Last = to
	}
	return out
}

func (c *consumer) batch(changes []logged, last int64) *batch {
	b := &batch{Changes: make([]store.Change, len(changes)), Last: last, Replay: changes[0].seq <= c.horizon}
	for i, l := range changes {
		b.Changes[i] = l.change
	}
	return b
}
