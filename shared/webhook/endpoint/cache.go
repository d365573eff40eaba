package endpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/memo"
	"orgops/shared/domain/disabling"
	"orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/post"
)

// Cache reads the endpoints of all companies and remembers them. Make one with New. It is safe for concurrent use.
type Cache struct {
	deps   Deps
	reader integration.Reader

	mu    sync.Mutex
	known map[string]remembered // by company
	drops uint64                // number of calls of Forget; put refuses a load that began before the last one
}

// Deps holds the parts that a Cache works with.
type Deps struct {
	Store  store.Store
	Vault  integration.Vault
	Engine policy.Engine // decides whether an endpoint is disabled
	Logger *slog.Logger
	Now    func() time.Time
	// Fresh limits how long endpoints are cached without a Forget; 0 disables the cache. A process that consumes the feed
	// may set it, because it sees every change. A Lambda leaves it 0.
	Fresh time.Duration
	// Saw takes the item of an endpoint's bounds, which a query that began at a time has read with its secrets; nil: it could not.
	Saw func(e *Endpoint, bounds *store.Item, at time.Time)
}

// New makes an empty cache.
func New(d Deps) *Cache { return &Cache{deps: d, known: map[string]remembered{}} }

// Endpoint returns one endpoint: from the cache if it is fresh, or as this invocation has read it before (see memo), or else from
// the store. A deleted one is an endpoint too, whose deliveries are held.
func (c *Cache) Endpoint(ctx context.Context, company store.Company, provider string) (*Endpoint, error) {
	if c.deps.Fresh > 0 {
		all, err := c.Endpoints(ctx, company.ID())
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(all, func(e *Endpoint) bool { return e.Provider == provider }); i >= 0 {
			return all[i], nil
		}
	}
	return memo.Get(ctx, oneKey{company.ID(), provider}, func(ctx context.Context) (*Endpoint, error) { return c.Read(ctx, company, provider) })
}

// Current returns the endpoint as it is now: the same one, unless it may have changed since it was prepared.
func (c *Cache) Current(ctx context.Context, e *Endpoint) (*Endpoint, error) {
	switch {
	case !e.stale.Load():
		return e, nil
	case c.deps.Fresh == 0:
		return c.Read(ctx, e.Company, e.Provider)
	}
	return c.Endpoint(ctx, e.Company, e.Provider)
}

// Read reads one endpoint from the store.
func (c *Cache) Read(ctx context.Context, company store.Company, provider string) (*Endpoint, error) {
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
func (c *Cache) prepare(ctx context.Context, company store.Company, stored integration.Stored) (*Endpoint, error) {
	e := &Endpoint{Company: company, Integration: stored.Integration, version: stored.Version}
	unusable := func(err error) {
		c.deps.Logger.ErrorContext(ctx, "endpoint not usable", "company", company.ID(), "provider", stored.Provider, "error", err)
	}
	if err := json.Unmarshal(stored.Config, &e.Settings); err != nil {
		unusable(err)
	}
	if stored.IsDamaged() {
		unusable(stored.Damaged)
		if e.Events == nil {
			e.Events = event.Patterns() // held, so that a recovery can send them
		}
		return e, nil
	}
	at := c.deps.Now().UTC()
	secrets, bounds, err := c.reader.LoadSecretsAndBounds(ctx, company, c.deps.Vault, e.Provider, e.Incarnation)
	c.deps.Saw(e, bounds, at)
	switch {
	case ctx.Err() != nil || errors.Is(err, store.ErrUnavailable):
		return nil, fmt.Errorf("prepare %s: %w", stored.Provider, cmp.Or(err, ctx.Err()))
	case err != nil:
		unusable(err)
		e.Sealed = true
		return e, nil
	case !secrets.Of(e.Integration): // they are those of another endpoint, which has the name now
		e.deleted = true
		return e, nil
	}
	if e.Target, err = post.NewTarget(e.URL, secrets.Live(c.deps.Now()), e.Headers, secrets.HeadersFor(outbound.Origin(e.URL))); err != nil {
		unusable(err)
		e.Target = nil
	}
	return e, nil
}

// Endpoints returns every endpoint of a company that may receive events, from the cache if it is fresh. Without a fresh
// cache, it leaves out endpoints that subscribe to none of the named events, because decrypting their secrets is the most
// expensive part of an event without subscribers. Without names, it leaves out none.
func (c *Cache) Endpoints(ctx context.Context, companyID string, names ...string) ([]*Endpoint, error) {
	now := c.deps.Now()
	known, generation, ok := c.get(companyID, now)
	if ok {
		return known, nil
	}
	company := store.For(c.deps.Store, companyID)
	all, err := memo.Get(ctx, listKey(companyID), func(ctx context.Context) ([]integration.Stored, error) { return c.reader.List(ctx, company) })
	if err != nil {
		return nil, err
	}
	endpoints := []*Endpoint{}
	for _, stored := range all {
		if !stored.Has(integration.EventDeliver) || c.deps.Fresh == 0 && !subscribes(stored.Integration, names) {
			continue
		}
		e, err := memo.Get(ctx, oneKey{companyID, stored.Provider}, func(ctx context.Context) (*Endpoint, error) { return c.prepare(ctx, company, stored) })
		if err != nil {
			return nil, err
		}
		endpoints = append(endpoints, e)
	}
	c.put(companyID, endpoints, now, generation)
	return endpoints, nil
}

// These are the keys of an endpoint and of a company's integrations in the invocation's memo.
type (
	oneKey  struct{ company, provider string }
	listKey string
)

// subscribes reports whether an endpoint may subscribe to one of these events. It is true without names.
func subscribes(i integration.Integration, names []string) bool {
	var conf Settings
	if err := json.Unmarshal(i.Config, &conf); err != nil || len(names) == 0 {
		return true
	}
	return slices.ContainsFunc(names, func(name string) bool { return event.Matches(conf.Events, name) })
}

// Forget drops a company's endpoints from the cache. Call it when one of them has changed.
func (c *Cache) Forget(companyID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops++
	expire(c.known[companyID].endpoints)
	delete(c.known, companyID)
}

// maxRemembered limits the companies in the cache. At the limit, it drops all. It costs less to load them again than to track the order
// of use in every look-up.
const maxRemembered = 10_000

type remembered struct {
	endpoints []*Endpoint
	at        time.Time
}

// get returns the endpoints of a company; ok is false if they must be loaded, and put gets the generation then.
func (c *Cache) get(company string, now time.Time) (endpoints []*Endpoint, generation uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.known[company]
	return r.endpoints, c.drops, ok && now.Sub(r.at) <= c.deps.Fresh
}

// put stores the endpoints from a load that began at generation. It marks the endpoints that it replaces, or does not
// store, as stale.
func (c *Cache) put(company string, endpoints []*Endpoint, at time.Time, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deps.Fresh == 0 {
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

func expire(endpoints []*Endpoint) {
	for _, e := range endpoints {
		e.stale.Store(true)
	}
}

// Disable disables an endpoint if the policy engine permits it, and records the decision. It changes nothing if the
// configuration has changed since the endpoint was prepared, because the failures belong to the old configuration. Of several
// attempts that fail at once, the write of one succeeds.
func (c *Cache) Disable(ctx context.Context, e *Endpoint, reason string, now time.Time) {
	if e.stale.Load() {
		return
	}
	failing := disabling.Case{Company: e.Company, Integration: e.Integration, Version: e.version, Reason: reason, Now: now}
	planned, err := failing.Plan(ctx, c.deps.Engine)
	if err == nil && len(planned.Ops) > 0 {
		err = e.Company.Commit(ctx, planned.Ops...)
	}
	if err != nil && !errors.Is(err, store.ErrConflict) {
		c.deps.Logger.WarnContext(ctx, "endpoint not disabled", "company", e.Company.ID(), "provider", e.Provider, "reason", reason, "error", err)
		return
	}
	if planned.Disables {
		e.stale.Store(true)
		c.Forget(e.Company.ID()) // this commit or a conflicting one has changed the endpoint
	}
	if err != nil || len(planned.Ops) == 0 {
		return
	}
	c.deps.Logger.InfoContext(ctx, "disabling of an endpoint decided", "company", e.Company.ID(), "provider", e.Provider, "reason", reason,
		"verdict", planned.Decision.Verdict)
}
