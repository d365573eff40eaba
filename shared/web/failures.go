package web

import (
	"sync"
	"time"
)

// A user's requests that do not succeed get this many records a minute in each process, so that a caller who is refused cannot
// make the service write at will.
const (
	failuresAMinute = 10
	maxFailing      = 4096 // users
)

// failures counts the requests that did not succeed, by user.
type failures struct {
	mu  sync.Mutex
	all map[string]failing
}

type failing struct {
	since   time.Time
	records int
	omitted int
}

// count counts a failure of a user. ok reports whether it gets a record, omitted how many before it did not.
func (f *failures) count(user string, now time.Time) (omitted int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[string]failing{}
	}
	was, seen := f.all[user]
	if !seen && len(f.all) >= maxFailing && !f.forget(now) {
		return 0, false
	}
	if now.Sub(was.since) >= time.Minute {
		was.since, was.records = now, 0
	}
	if was.records >= failuresAMinute {
		was.omitted++
		f.all[user] = was
		return 0, false
	}
	omitted, was.omitted = was.omitted, 0
	was.records++
	f.all[user] = was
	return omitted, true
}

// forget drops the users without a failure in the last minute, and reports whether there were any.
func (f *failures) forget(now time.Time) bool {
	before := len(f.all)
	for user, was := range f.all {
		if now.Sub(was.since) >= time.Minute {
			delete(f.all, user)
		}
	}
	return len(f.all) < before
}
