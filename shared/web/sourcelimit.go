package web

import (
	"context"
	"fmt"
	"hash/maphash"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
)

// SourceLimit bounds how often one source may do in a minute what needs no token. It counts in the process, so that a refusal
// costs no request to the store, and it takes the same memory for any number of sources: sources are spread over counters by a
// hash that no caller can foresee.
type SourceLimit struct {
	name string
	most int
	now  func() time.Time
	seed maphash.Seed

	mu     sync.Mutex
	minute time.Time
	counts [sourceCounters]uint16
}

const (
	sourceWindow   = time.Minute
	sourceCounters = 4096
)

// NewSourceLimit makes a limit of so many calls a minute, with its name in the headers.
func NewSourceLimit(name string, most int, now func() time.Time) *SourceLimit {
	return &SourceLimit{name: name, most: most, now: now, seed: maphash.MakeSeed()}
}

// Take counts a call of the request's source. Beyond the limit it returns fault.QuotaExceeded, with Retry-After and the headers
// of draft-ietf-httpapi-ratelimit-headers-10.
func (l *SourceLimit) Take(ctx context.Context) error {
	now := l.now().UTC()
	if l.count(Source(ctx), now) {
		return nil
	}
	wait := now.Truncate(sourceWindow).Add(sourceWindow).Sub(now)
	return TooMany(l.name, l.most, sourceWindow, wait, "your network sends too many requests of this kind; wait and try again")
}

// count reports whether one more call of a source is within the limit.
func (l *SourceLimit) count(source string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if minute := now.Truncate(sourceWindow); !minute.Equal(l.minute) {
		l.minute, l.counts = minute, [sourceCounters]uint16{}
	}
	counter := &l.counts[maphash.String(l.seed, source)%sourceCounters]
	if int(*counter) >= l.most {
		return false
	}
	*counter++
	return true
}

// TooMany returns the refusal of a call beyond a limit of so many calls in a window. The caller may try again after wait.
func TooMany(name string, most int, window, wait time.Duration, detail string) error {
	seconds := int64((wait + time.Second - 1) / time.Second)
	return huma.ErrorWithHeaders(&fault.Error{Kind: fault.QuotaExceeded, Detail: detail, RetryAfter: wait}, http.Header{
		"Ratelimit-Policy": {fmt.Sprintf(`%q;q=%d;w=%d`, name, most, int(window.Seconds()))},
		"Ratelimit":        {fmt.Sprintf(`%q;r=0;t=%d`, name, seconds)},
	})
}
