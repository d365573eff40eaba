package courier

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/memo"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/post"
)

// Endpoint holds a webhook integration with everything prepared for sending.
type Endpoint struct {
	Company store.Company
	integration.Integration
	config

	version int64
	target  *post.Target // nil: unusable configuration or secrets
	sealed  bool         // the secrets could not be decrypted this time
	home    home         // nil: deleted
	deleted bool         // the integration no longer exists
	stale   atomic.Bool  // the integration may have changed since it was prepared
}

// sealedWait sets the wait for an endpoint whose secrets could not be decrypted; the key service may recover.
const sealedWait = time.Minute

// config holds the part of a webhook's configuration that sending needs.
type config struct {
	URL       string            `json:"url"`
	Events    []string          `json:"events"`
	Headers   map[string]string `json:"headers"`
	RateLimit int               `json:"rateLimit"` // attempts a second; 0: no limit
	Ordered   bool              `json:"ordered"`
	Filter    string            `json:"filter"` // without it and a transformation, the endpoint gets every event, as it is
	Transform string            `json:"transform"`
	Versions  event.Pins        `json:"eventVersions"`
}

// Wants reports whether the endpoint gets an event of a change that was committed at a time: it subscribes to the event, has the
// permission to receive events, and was configured then. A change may be handled much later, for example after it was parked, and its
// subscribers may have been deleted meanwhile.
func (e *Endpoint) Wants(name string, at time.Time) bool {
	existed := !e.CreatedAt.Truncate(time.Millisecond).After(at) // as exact as the time of a change
	return existed && e.Has(integration.EventDeliver) && event.Matches(e.Events, name)
}

// Held reports whether deliveries to an incarnation of the endpoint must be held, and why: delivery.HeldDeleted if it does not exist,
// because no other one ever gets them. The tenant recovers the others after the endpoint is certified, enabled or configured.
func (e *Endpoint) Held(incarnation string, now time.Time) (because string, held bool) {
	switch {
	case e.deleted || e.Incarnation != incarnation:
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

// current returns the endpoint of a task as it is now: the same one, unless it may have changed since it was prepared.
func (c *Courier) current(ctx context.Context, t *Task) (e *Endpoint, err error) {
	if e = t.Endpoint; e == nil && t.Source != Backlog {
		if e, err = c.Endpoint(ctx, t.Company, t.slot.Provider); err != nil {
			return nil, err
		}
	}
	switch {
	case e == nil, e.stale.Load() && c.Fresh == 0:
		return c.look(ctx, t.Company, t.slot.Provider)
	case e.stale.Load():
		return c.Endpoint(ctx, t.Company, t.slot.Provider)
	}
	return e, nil
}

// Endpoint returns one endpoint: from the cache if it is fresh, or as this invocation has read it before (see memo), or else from
// the store. A deleted one is an endpoint too, whose deliveries are held.
func (c *Courier) Endpoint(ctx context.Context, company store.Company, provider string) (*Endpoint, error) {
	if c.Fresh > 0 {
		all, err := c.Endpoints(ctx, company.ID())
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(all, func(e *Endpoint) bool { return e.Provider == provider }); i >= 0 {
			return all[i], nil
		}
	}
	return memo.Get(ctx, endpointKey{company.ID(), provider}, func(ctx context.Context) (*Endpoint, error) { return c.look(ctx, company, provider) })
}

// look reads one endpoint from the store.
func (c *Courier) look(ctx context.Context, company store.Company, provider string) (*Endpoint, error) {
	i, version, err := c.reader.Load(ctx, company, provider)
	if fault.KindOf(err) == fault.NotFound {
		return &Endpoint{Company: company, Integration: integration.Integration{Provider: provider}, deleted: true}, nil
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
	e := &Endpoint{Company: company, Integration: stored.Integration, version: stored.Version}
	unusable := func(err error) {
		c.Logger.ErrorContext(ctx, "endpoint not usable", "company", company.ID(), "provider", stored.Provider, "error", err)
	}
	if err := json.Unmarshal(stored.Config, &e.config); err != nil {
		unusable(err)
	}
	e.home = c.known.home(company, e.Provider, e.Incarnation)
	if stored.IsDamaged() {
		unusable(stored.Damaged)
		if e.Events == nil {
			e.Events = event.Patterns() // held, so that a recovery can send them
		}
		return e, nil
	}
	at := c.Now().UTC()
	secrets, bounds, err := c.reader.LoadSecretsAndBounds(ctx, company, c.Vault, e.Provider, e.Incarnation)
	e.home.saw(bounds, at)
	switch {
	case ctx.Err() != nil || errors.Is(err, store.ErrUnavailable):
		return nil, fmt.Errorf("prepare %s: %w", stored.Provider, cmp.Or(err, ctx.Err()))
	case err != nil:
		unusable(err)
		e.sealed = true
		return e, nil
	case !secrets.Of(e.Integration): // they are those of another endpoint, which has the name now
		e.deleted = true
		return e, nil
	}
	if e.target, err = post.NewTarget(e.URL, secrets.Live(c.Now()), e.Headers, secrets.HeadersFor(outbound.Origin(e.URL))); err != nil {
		unusable(err)
		e.target = nil
	}
	return e, nil
}

// Endpoints returns every endpoint of a company that may receive events, from the cache if it is fresh. A courier without a
// cache leaves out endpoints that subscribe to none of the named events, because decrypting their secrets is the most
// expensive part of an event without subscribers. Without names, it leaves out none.
func (c *Courier) Endpoints(ctx context.Context, companyID string, names ...string) ([]*Endpoint, error) {
	now := c.Now()
	known, generation, ok := c.known.get(companyID, now)
	if ok {
		return known, nil
	}
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
	c.known.put(companyID, endpoints, now, generation)
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

// Forget drops a company's endpoints from the cache. Call it when one of them has changed.
func (c *Courier) Forget(companyID string) { c.known.drop(companyID) }

// maxRemembered limits the companies in the cache and the homes of bounds. At the limit, the courier drops all
// entries. It costs less to load them again than to track the order of use in every look-up.
const maxRemembered = 10_000

// cache stores the endpoints of companies, and the homes of their bounds. A home stays when its endpoint's configuration changes.
type cache struct {
	fresh time.Duration
	build func(store.Company, string, string) home

	mu    sync.Mutex
	known map[string]remembered
	drops uint64 // number of drops; put refuses a load that began before the last one
	homes map[EndpointKey]home
}

type remembered struct {
	endpoints []*Endpoint
	at        time.Time
}

func (c *cache) home(company store.Company, provider, incarnation string) home {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := EndpointKey{company.ID(), provider, incarnation}
	h := c.homes[key]
	if h == nil {
		if len(c.homes) >= maxRemembered {
			clear(c.homes)
		}
		h = c.build(company, provider, incarnation)
		c.homes[key] = h
	}
	return h
}

// get returns the endpoints of a company; ok is false if they must be loaded, and put gets the generation then.
func (c *cache) get(company string, now time.Time) (endpoints []*Endpoint, generation uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.known[company]
	return r.endpoints, c.drops, ok && now.Sub(r.at) <= c.fresh
}

// put stores the endpoints from a load that began at generation. It marks the endpoints that it replaces, or does not
// store, as stale.
func (c *cache) put(company string, endpoints []*Endpoint, at time.Time, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh == 0 {
		return
	}
	if c.drops != generation {
		expire(endpoints)
		return
	}
	if len(c.known) >= maxRemembered {
		for _, r := range c.known {
			expire(r.endpoints)
		}
		clear(c.known)
	}
	expire(c.known[company].endpoints)
	c.known[company] = remembered{endpoints, at}
}

func (c *cache) drop(company string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops++
	expire(c.known[company].endpoints)
	delete(c.known, company)
}

func expire(endpoints []*Endpoint) {
	for _, e := range endpoints {
		e.stale.Store(true)
	}
}
