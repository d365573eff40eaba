package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// MaxTriesFromSource and MaxTries bound the login tries for one e-mail address, known or unknown, in a window: those from one source, and all of them.
// Ten wrong passwords from one network therefore do not lock the user out of another.
const (
	MaxTriesFromSource = 10
	MaxTries           = 100
	window             = time.Minute

	triesEntity = "tries"
	triesKey    = "TRIES"
)

// tries counts the tries of one e-mail address in one minute. An address has a single item, which each new minute
// overwrites, because a store may take days to remove expired items. A second item for each source would cost a transaction.
// The item has at most MaxTries sources.
type tries struct {
	Minute  time.Time      `json:"minute"`
	Count   int            `json:"count"`
	Sources map[string]int `json:"sources,omitempty"` // by web.Source
}

// limit describes one of the limits, by its name in the headers.
type limit struct {
	name   string
	most   int
	detail string
}

func bySource() limit {
	return limit{"login", MaxTriesFromSource, "too many tries for this e-mail address from your network; wait and try again"}
}

func byEmail() limit {
	return limit{"login-email", MaxTries, "too many tries for this e-mail address; wait and try again"}
}

// exceeded returns the limit that another try from source would exceed.
func (t tries) exceeded(source string) (limit, bool) {
	if t.Sources[source] >= MaxTriesFromSource {
		return bySource(), true
	}
	return byEmail(), t.Count >= MaxTries
}

// with counts one more try from source.
func (t tries) with(source string) tries {
	sources := maps.Clone(t.Sources)
	if sources == nil {
		sources = map[string]int{}
	}
	sources[source]++
	return tries{Minute: t.Minute, Count: t.Count + 1, Sources: sources}
}

// countTry counts this try and returns the login, or nil if the address has no login. One query reads the count and the
// login, because both are in the address's partition. Above the limit, countTry returns fault.QuotaExceeded with the headers
// that tell when to retry.
func (d Deps) countTry(ctx context.Context, p store.Partition) (*store.Item, error) {
	source := web.Source(ctx)
	// A lost race is retried. Every round counts one try of some caller, so the limit bounds the rounds too.
	for range 2 * MaxTries {
		now := d.Now().UTC()
		minute := now.Truncate(window)
		login, counted, version, err := d.read(ctx, p)
		if err != nil {
			return nil, err
		}
		// The clocks of two processes may differ. The process whose clock is behind counts in the other's minute.
		if ahead := counted.Minute.Sub(minute); ahead < 0 || ahead > window {
			counted = tries{Minute: minute}
		}
		if l, over := counted.exceeded(source); over {
			return nil, d.tooMany(l, counted.Minute.Add(window).Sub(now))
		}
		op := p.Entry(triesKey, triesEntity, version, counted.with(source)).Until(counted.Minute.Add(2 * window))
		err = d.Store.Commit(ctx, op)
		if !errors.Is(err, store.ErrConflict) {
			return login, store.Fault(err, "")
		}
	}
	return nil, d.tooMany(byEmail(), window)
}

// read queries the login and the latest count, with the count's version.
func (d Deps) read(ctx context.Context, p store.Partition) (login *store.Item, t tries, version int64, err error) {
	page, err := d.Store.Query(ctx, p, store.Query{})
	if err != nil {
		return nil, tries{}, 0, store.Fault(err, "")
	}
	for _, item := range page.Items {
		switch item.Key {
		case user.LoginKey:
			login = &item
		case triesKey:
			version = item.Version
			if err := json.Unmarshal(item.Body, &t); err != nil {
				return nil, tries{}, 0, fmt.Errorf("decode tries: %w", err)
			}
		}
	}
	return login, t, version, nil
}

// tooMany counts and returns the refusal of a try.
func (d Deps) tooMany(l limit, wait time.Duration) error {
	d.Metrics.Count(metric.LoginsLimited, 1)
	return web.TooMany(l.name, l.most, window, wait, l.detail)
}

func ignoreConflict(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return store.Fault(err, "")
}
