package courier

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/memo"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/outbound"
)

// Endpoint holds a webhook integration with everything prepared for sending.
type Endpoint struct {
	Company store.Company
	integration.Integration

	version int64
	events  []string
	ordered bool
	target  *Target // nil: unusable configuration or secrets
	sealed  bool    // the secrets could not be decrypted this time
	health  *health
	deleted bool        // the integration no longer exists
	stale   atomic.Bool // the integration may have changed since it was prepared

	disabling chan struct{} // full while an attempt disables the endpoint
}

func deleted(company store.Company, provider string) *Endpoint {
	return &Endpoint{Company: company, Integration: integration.Integration{Provider: provider}, deleted: true, disabling: make(chan struct{}, 1)}
}

// sealedWait sets the wait for an endpoint whose secrets could not be decrypted; the key service may recover.
const sealedWait = time.Minute

// config holds the part of a webhook's configuration that sending needs.
type config struct {
	URL       string            `json:"url"`
	Events    []string          `json:"events"`
	Headers   map[string]string `json:"headers"`
	RateLimit int               `json:"rateLimit"`
	Ordered   bool              `json:"ordered"`
}

// Key returns the endpoint's key for Slots.
func (e *Endpoint) Key() EndpointKey {
	return EndpointKey{Company: e.Company.ID(), Provider: e.Provider, Incarnation: e.Incarnation}
}

// Is reports whether the endpoint exists and has an incarnation. A delivery to another one never reaches it.
func (e *Endpoint) Is(incarnation string) bool { return !e.deleted && e.Incarnation == incarnation }

// Subscribes reports whether the endpoint subscribes to an event and has the permission to receive events.
func (e *Endpoint) Subscribes(name string) bool {
	return e.Has(integration.EventDeliver) && event.Matches(e.events, name)
}

// Existed reports whether the endpoint was configured when a change was committed. A change may be handled much later, such as one
// that was parked, and its subscribers may have been deleted meanwhile.
func (e *Endpoint) Existed(at time.Time) bool {
	return !e.CreatedAt.Truncate(time.Millisecond).After(at) // as exact as the time of a change
}

// IsStale reports whether the endpoint has changed since it was loaded, as far as this process knows.
func (e *Endpoint) IsStale() bool { return e.stale.Load() }

// Ordered reports whether the endpoint receives the events about one record in the order of the record's changes.
func (e *Endpoint) Ordered() bool { return e.ordered }

// Holds reports whether deliveries to an incarnation of the endpoint must be held.
func (e *Endpoint) Holds(incarnation string, now time.Time) bool {
	_, held := e.held(incarnation, now)
	return held
}

// held reports whether deliveries to an incarnation of the endpoint must be held, and why. The tenant recovers them after the
// endpoint is certified, enabled or configured, except those of a deleted endpoint.
func (e *Endpoint) held(incarnation string, now time.Time) (because string, held bool) {
	switch {
	case !e.Is(incarnation):
		return delivery.HeldDeleted, true
	case e.target == nil && !e.sealed:
		return "configuration", true
	case !e.Enabled:
		return "disabled", true
	case !e.Allows(integration.EventDeliver, now):
		return "sandbox", true
	case e.Suspended: // last: what is held for another reason is not sent when the company is resumed
		return delivery.HeldSuspended, true
	}
	return "", false
}

// wait reports whether a delivery to the endpoint must wait, and until when. A delivery waits if the breaker is open, the
// rate limit is reached, or the secrets cannot be decrypted. The times are spread out, so that the deliveries do not all
// come back at once. If the delivery need not wait, the call has taken a rate-limit token and possibly the breaker's probe,
// so an attempt must follow.
//
// If the caller keeps deliveries in hand, the times are not spread out.
func (e *Endpoint) wait(ctx context.Context, p Path, budget time.Duration, now time.Time, inHand int) (until time.Time, wait bool) {
	if e.sealed {
		return now.Add(sealedWait + spillDelay(e.health.random)), true
	}
	return e.health.wait(ctx, p, budget, now, inHand)
}

// Known returns one endpoint: from the cache if it is fresh, or as this invocation has read it before (see memo), or else as
// Endpoint does.
func (c *Courier) Known(ctx context.Context, company store.Company, provider string) (*Endpoint, error) {
	if c.Fresh > 0 {
		all, err := c.Endpoints(ctx, company.ID())
		if err != nil {
			return nil, err
		}
		if e := find(all, provider); e != nil {
			return e, nil
		}
	}
	return memo.Get(ctx, endpointKey{company.ID(), provider}, func(ctx context.Context) (*Endpoint, error) { return c.Endpoint(ctx, company, provider) })
}

// find returns the endpoint of a provider, or nil.
func find(all []*Endpoint, provider string) *Endpoint {
	for _, e := range all {
		if e.Provider == provider {
			return e
		}
	}
	return nil
}

// Endpoint loads one endpoint from the store. Deliver holds deliveries to a deleted endpoint.
func (c *Courier) Endpoint(ctx context.Context, company store.Company, provider string) (*Endpoint, error) {
	i, version, err := c.reader.Load(ctx, company, provider)
	if fault.KindOf(err) == fault.NotFound {
		return deleted(company, provider), nil
	}
	if err != nil {
		return nil, err
	}
	return c.prepare(ctx, company, integration.Stored{Integration: i, Version: version})
}

// prepare makes an endpoint ready for sending. It returns an error only if an early retry may help. For a lasting problem
// it returns an endpoint whose deliveries wait or are held, because an error would block the company's other endpoints and
// the companies behind them in the feed.
func (c *Courier) prepare(ctx context.Context, company store.Company, stored integration.Stored) (*Endpoint, error) {
	e := &Endpoint{Company: company, Integration: stored.Integration, version: stored.Version, disabling: make(chan struct{}, 1)}
	unusable := func(err error) {
		c.Logger.ErrorContext(ctx, "endpoint not usable", "company", company.ID(), "provider", stored.Provider, "error", err)
	}
	var conf config
	if err := json.Unmarshal(stored.Config, &conf); err != nil {
		unusable(err)
	}
	if stored.IsDamaged() {
		unusable(stored.Damaged)
		if conf.Events == nil {
			conf.Events = event.Patterns() // held, so that a recovery can send them
		}
	}
	e.events, e.ordered, e.health = conf.Events, conf.Ordered, c.health.of(e, conf.RateLimit)
	if stored.IsDamaged() {
		return e, nil
	}
	secrets, err := c.load(ctx, e)
	switch {
	case ctx.Err() != nil || errors.Is(err, store.ErrUnavailable):
		return nil, fmt.Errorf("prepare %s: %w", stored.Provider, cmp.Or(err, ctx.Err()))
	case err != nil:
		unusable(err)
		e.sealed = true
		return e, nil
	}
	if e.target, err = NewTarget(conf.URL, secrets.Live(c.Now()), conf.Headers, secrets.HeadersFor(outbound.Origin(conf.URL))); err != nil {
		unusable(err)
		e.target = nil
	}
	return e, nil
}

// load reads the secrets of an endpoint and, with the same query, its shared bounds.
func (c *Courier) load(ctx context.Context, e *Endpoint) (integration.Secrets, error) {
	if !c.Shared {
		secrets, _, err := c.reader.LoadSecrets(ctx, e.Company, c.Vault, e.Provider)
		return secrets, err
	}
	at := c.Now().UTC()
	secrets, bounds, err := c.reader.LoadSecretsAndBounds(ctx, e.Company, c.Vault, e.Provider, e.Incarnation)
	if bounds != nil {
		e.health.lease.saw(*bounds, at)
	}
	return secrets, err
}

// Endpoints returns every endpoint of a company that may receive events, from the cache if it is fresh. A courier without a
// cache leaves out endpoints that subscribe to none of the named events, because decrypting their secrets is the most
// expensive part of an event without subscribers. Without names, it leaves out none.
func (c *Courier) Endpoints(ctx context.Context, companyID string, names ...string) ([]*Endpoint, error) {
	now := c.Now()
	if known, ok := c.cache.get(companyID, now); ok {
		return known, nil
	}
	generation := c.cache.generation()
	company := store.For(c.Store, companyID)
	all, err := memo.Get(ctx, listKey(companyID), func(ctx context.Context) ([]integration.Stored, error) { return c.reader.List(ctx, company) })
	if err != nil {
		return nil, err
	}
	endpoints := []*Endpoint{}
	for _, stored := range all {
		if !stored.Has(integration.EventDeliver) || c.Fresh == 0 && !subscribes(stored.Integration, names) {
			continue
		}
		e, err := memo.Get(ctx, endpointKey{companyID, stored.Provider}, func(ctx context.Context) (*Endpoint, error) { return c.prepare(ctx, company, stored) })
		if err != nil {
			return nil, err
		}
		endpoints = append(endpoints, e)
	}
	c.cache.put(companyID, endpoints, now, generation)
	return endpoints, nil
}

// These are the keys of an endpoint and of a company's integrations in the invocation's memo.
type (
	endpointKey struct{ company, provider string }
	listKey     string
)

// subscribes reports whether an endpoint may subscribe to one of these events. It is true without names.
func subscribes(i integration.Integration, names []string) bool {
	var conf config
	if err := json.Unmarshal(i.Config, &conf); err != nil || len(names) == 0 {
		return true
	}
	return slices.ContainsFunc(names, func(name string) bool { return event.Matches(conf.Events, name) })
}

// renew returns the endpoint's current version: the same endpoint, unless it may have changed since it was prepared.
func (c *Courier) renew(ctx context.Context, e *Endpoint) (*Endpoint, error) {
	switch {
	case !e.stale.Load():
		return e, nil
	case c.Fresh == 0:
		return c.Endpoint(ctx, e.Company, e.Provider)
	}
	all, err := c.Endpoints(ctx, e.Company.ID())
	if err != nil {
		return nil, err
	}
	if one := find(all, e.Provider); one != nil {
		return one, nil
	}
	return deleted(e.Company, e.Provider), nil
}

// Forget drops a company's endpoints from the cache. Call it when one of them has changed.
func (c *Courier) Forget(companyID string) { c.cache.drop(companyID) }
