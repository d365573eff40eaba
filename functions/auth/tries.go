package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/base/metric"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// These bound the login tries for one e-mail address, known or unknown.
const (
	maxTries = 10
	window   = time.Minute

	triesEntity = "tries"
	triesKey    = "TRIES"
)

// tries counts the tries of one e-mail address in one minute. An address has a single item, which each new minute
// overwrites, because a store may take days to remove expired items.
type tries struct {
	Minute time.Time `json:"minute"`
	Count  int       `json:"count"`
}

// countTry counts this try and returns the login, or nil if the address has no login. One query reads the count and the
// login, because both are in the address's partition. Above the limit, countTry returns fault.QuotaExceeded with the headers
// that tell when to retry.
func (d Deps) countTry(ctx context.Context, p store.Partition) (*store.Item, error) {
	// A round that another caller's write interrupts is repeated. Each such write counts a try, so the limit also bounds the
	// rounds.
	for range 2 * maxTries {
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
		if counted.Count >= maxTries {
			return nil, d.tooMany(counted.Minute.Add(window).Sub(now))
		}
		counted.Count++
		op := p.Entry(triesKey, triesEntity, version, counted).Until(counted.Minute.Add(2 * window))
		err = d.Store.Commit(ctx, op)
		if !errors.Is(err, store.ErrConflict) {
			return login, store.Fault(err, "")
		}
	}
	return nil, d.tooMany(window)
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

// tooMany returns the fault with Retry-After and the headers of draft-ietf-httpapi-ratelimit-headers-10.
func (d Deps) tooMany(wait time.Duration) error {
	d.Metrics.Count(metric.LoginsLimited, 1)
	seconds := int64((wait + time.Second - 1) / time.Second)
	return huma.ErrorWithHeaders(&fault.Error{
		Kind: fault.QuotaExceeded, Detail: "too many tries for this e-mail address; wait and try again", RetryAfter: wait,
	}, http.Header{
		"Ratelimit-Policy": {fmt.Sprintf(`"login";q=%d;w=%d`, maxTries, int(window.Seconds()))},
		"Ratelimit":        {fmt.Sprintf(`"login";r=0;t=%d`, seconds)},
	})
}

func ignoreConflict(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return store.Fault(err, "")
}
