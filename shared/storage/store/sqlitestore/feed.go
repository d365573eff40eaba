package sqlitestore

import (
	"bytes"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store"
)

// Limits of the feed's memory, which serves consumers that are up to date. A consumer further behind reads the log.
const (
	maxRecent      = 4096
	maxRecentBytes = 4 << 20
)

// feed carries changes from the writer to the consumers of this process.
type feed struct {
	consumers []string // in the order in which they are woken
	pending   []logged // of the current transaction; owned by the writer

	mu     sync.Mutex
	log    []logged // log[head:] has consecutive sequences and ends with the newest commit of this process
	head   int
	size   int   // bytes of log[head:]
	latest int64 // greatest sequence known to be in the log
	active map[string]*consumer
}

func newFeed(consumers []string, latest int64) *feed {
	return &feed{consumers: consumers, latest: latest, active: make(map[string]*consumer)}
}

// prepareFeed stores a position for every consumer. From now on the log keeps the changes that the consumer has not
// finished.
func (s *Store) prepareFeed(ctx context.Context) (latest int64, err error) {
	for _, name := range s.o.Consumers {
		if err := s.db.Write(ctx, setPosition(insertPosition, name, 0)); err != nil {
			return 0, contractError(err)
		}
	}
	return s.latest(ctx)
}

// add queues durable changes. The writer calls it in commit order, and flush after each group. It clones new bodies, because
// the committer may reuse their memory.
func (f *feed) add(changes []logged) {
	for _, l := range changes {
		if n := l.change.New; n != nil {
			l.change.New = &store.Image{Version: n.Version, Body: bytes.Clone(n.Body)}
		}
		f.pending = append(f.pending, l)
	}
}

// flush passes the queued changes to the consumers.
func (f *feed) flush() {
	if len(f.pending) == 0 {
		return
	}
	f.mu.Lock()
	if newest := f.pending[len(f.pending)-1].seq; newest > f.latest {
		f.latest = newest
	}
	if len(f.active) > 0 {
		for _, l := range f.pending {
			f.keep(l)
		}
		f.trim()
		f.wake()
	}
	f.mu.Unlock()
	clear(f.pending)
	f.pending = f.pending[:0]
}

// wake signals the consumers. Of those that sleep, Go runs first what was woken last.
func (f *feed) wake() {
	for _, name := range f.consumers {
		if c := f.active[name]; c != nil {
			c.signal()
		}
	}
}

func (f *feed) keep(l logged) {
	if n := len(f.log); n > f.head && f.log[n-1].seq+1 != l.seq {
		f.forget(n - f.head) // another process has committed in between
	}
	f.log = append(f.log, l)
	f.size += l.size
}

// trim drops changes that every consumer has taken, and the oldest ones over the limits.
func (f *feed) trim() {
	taken := int64(math.MaxInt64)
	for _, c := range f.active {
		taken = min(taken, c.cursor)
	}
	drop, size, recent := 0, f.size, f.log[f.head:]
	for drop < len(recent) && (recent[drop].seq <= taken || len(recent)-drop > maxRecent || size > maxRecentBytes) {
		size -= recent[drop].size
		drop++
	}
	f.forget(drop)
}

// forget drops the oldest n changes. Batches hold copies, so forget reuses the memory. It moves the remaining changes only
// when half of the memory is free.
func (f *feed) forget(n int) {
	for i := f.head; i < f.head+n; i++ {
		f.size -= f.log[i].size
		f.log[i] = logged{}
	}
	f.head += n
	if f.head*2 >= len(f.log) {
		rest := copy(f.log, f.log[f.head:])
		clear(f.log[rest:])
		f.log, f.head = f.log[:rest], 0
	}
}

// notice records the greatest sequence in the log. If another process has committed, notice wakes the consumers.
func (f *feed) notice(latest int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if latest <= f.latest {
		return
	}
	f.latest = latest
	f.wake()
}

// after returns a copy of up to n recent changes after a sequence. missing is true if only the log has the next changes.
func (f *feed) after(seq int64, n int) (changes []logged, missing bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if seq >= f.latest {
		return nil, false
	}
	recent := f.log[f.head:]
	if len(recent) == 0 || recent[0].seq > seq+1 || recent[len(recent)-1].seq <= seq {
		return nil, true
	}
	recent = recent[seq+1-recent[0].seq:]
	count, size := 0, 0
	for count < min(n, len(recent)) && size < maxBatchBytes {
		size += recent[count].size
		count++
	}
	return slices.Clone(recent[:count]), false
}

// join registers a consumer, so that memory keeps changes for it; ok is false if its name is already in use.
func (f *feed) join(c *consumer) (ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.active[c.name] != nil {
		return false
	}
	f.active[c.name] = c
	return true
}

// leave unregisters a consumer.
func (f *feed) leave(c *consumer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.active, c.name)
	if len(f.active) == 0 {
		f.forget(len(f.log) - f.head)
	}
}

// advance records the sequence up to which a consumer has taken changes.
func (f *feed) advance(c *consumer, seq int64) {
	f.mu.Lock()
	c.cursor = seq
	f.mu.Unlock()
}

// watch detects commits of other processes. It reads the log for the feed. For the cache it runs an empty transaction, in
// which the writer detects foreign commits and empties the cache.
func (s *Store) watch(ctx context.Context) {
	tick := time.NewTicker(s.o.Notice)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_ = s.db.WriteLazily(ctx, nothing, 1) // retried at the next tick; a Write would make work in the background rest
		if latest, err := s.latest(ctx); err == nil {
			s.feed.notice(latest)
		}
	}
}

//nolint:gochecknoglobals // never written
var nothing = sqlitedb.Do(func(*sqlite.Conn) error { return nil })
