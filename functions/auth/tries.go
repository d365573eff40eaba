package auth

import (
	"context"
	"errors"
	"maps"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/domain/company"
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
	refusedKey  = "REFUSED"
	lastKey     = "LAST"
)

// MaxTriesOfSource bounds the tries from one source in a window: logins for all e-mail addresses, invitations and requests for tokens
// together.
const MaxTriesOfSource = 100

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

func ofSource() limit {
	return limit{"login-source", MaxTriesOfSource, "too many tries from your network; wait and try again"}
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

// as returns the tries of the minute of now. The clocks of two processes may differ. The process whose clock is behind counts in the
// other's minute.
func (t tries) as(now time.Time) tries {
	minute := now.Truncate(window)
	if ahead := t.Minute.Sub(minute); ahead < 0 || ahead > window {
		return tries{Minute: minute}
	}
	return t
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

// countTry counts this try and returns what is known of the address. One query reads the count and the logins, because all are in
// the address's partition. Above a limit, countTry returns fault.QuotaExceeded with the headers that tell when to retry.
func (d Deps) countTry(ctx context.Context, p store.Partition) (known, error) {
	if err := d.countSource(ctx, web.Source(ctx)); err != nil {
		return known{}, err
	}
	return d.countAddress(ctx, p)
}

// countAddress counts this try of an address, whose network has been counted.
func (d Deps) countAddress(ctx context.Context, p store.Partition) (known, error) {
	source := web.Source(ctx)
	return d.count(ctx, p, rule{
		all:      byEmail(),
		exceeded: func(t tries) (limit, bool) { return t.exceeded(source) },
		with:     func(t tries) tries { return t.with(source) },
	})
}

// countSource counts this try of a source, for any address, invitation or code. An unknown source has no count, because strangers would share it.
func (d Deps) countSource(ctx context.Context, source string) error {
	if source == "" {
		return nil
	}
	_, err := d.count(ctx, store.Network(source), rule{
		all:      ofSource(),
		exceeded: func(t tries) (limit, bool) { return ofSource(), t.Count >= MaxTriesOfSource },
		with:     func(t tries) tries { return tries{Minute: t.Minute, Count: t.Count + 1} },
	})
	return err
}

// rule says how one more try is counted in an item.
type rule struct {
	all      limit                     // of all tries in the item
	exceeded func(tries) (limit, bool) // the limit that one more try would exceed
	with     func(tries) tries
}

// count counts one try and returns what is known of its partition. It retries a lost race. Every round counts one try of some
// caller, so the limit bounds the rounds too.
func (d Deps) count(ctx context.Context, p store.Partition, r rule) (known, error) {
	for range 2 * r.all.most {
		now := d.Now().UTC()
		found, err := d.read(ctx, p)
		if err != nil {
			return known{}, err
		}
		counted := found.tries.as(now)
		expires := counted.Minute.Add(2 * window)
		if l, over := r.exceeded(counted); over {
			return known{}, d.tooMany(l, counted.Minute.Add(window).Sub(now))
		}
		err = d.Store.Commit(ctx, p.Entry(triesKey, triesEntity, found.version, r.with(counted)).Until(expires))
		if !errors.Is(err, store.ErrConflict) {
			return found, store.Fault(err, "")
		}
	}
	return known{}, d.tooMany(r.all, window)
}

// known holds what the partition of an address or of a network has.
type known struct {
	accounts []company.Account // of the address
	tries    tries
	version  int64    // of the item of the tries
	refused  int64    // of the item of the last refusal
	last     lastUsed // of the address's logins of an earlier release
	reset    company.Reset
	resetAt  int64 // the version of the item of reset
}

// lastUsed names the company that a person with one password in several companies logged in to last, as an earlier release stored it.
type lastUsed struct {
	CompanyID string `json:"companyId"`
}

func (d Deps) read(ctx context.Context, p store.Partition) (k known, err error) {
	page, err := d.Store.Query(ctx, p, store.Query{})
	if err != nil {
		return known{}, store.Fault(err, "")
	}
	for _, item := range page.Items {
		switch item.Key {
		case lastKey:
			err = item.Decode(&k.last)
		case refusedKey:
			k.refused = item.Version
		case company.ResetKey:
			k.resetAt, err = item.Version, item.Decode(&k.reset)
		case triesKey:
			k.version, err = item.Version, item.Decode(&k.tries)
		}
		if err != nil {
			return known{}, err
		}
	}
	k.accounts, err = company.AccountsIn(p, page.Items)
	return k, err
}

// refuse makes the end of a login of an unknown address cost what the record of a wrong password costs: one write.
func (d Deps) refuse(ctx context.Context, p store.Partition, version int64) {
	op := p.Entry(refusedKey, triesEntity, version, struct {
		At time.Time `json:"at"`
	}{d.Now().UTC()}).Until(d.Now().Add(2 * window))
	web.Unidentified(ctx, p.String(), func(ctx context.Context) error { return ignoreConflict(d.Store.Commit(ctx, op)) })
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
