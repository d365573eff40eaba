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

	"orgops/shared/event"
	"orgops/shared/fault"
	"orgops/shared/integration"
	"orgops/shared/store"
	"orgops/shared/webhook"
)

// Endpoint is a webhook integration made ready to be sent to.
type Endpoint struct {
	Company store.Company
	integration.Integration

	version int64
	events  []string
	target  *webhook.Endpoint // nil: its configuration or secrets do not make one
	sealed  bool              // its secrets could not be opened this time
	health  *health
	stale   atomic.Bool // it may have changed since it was prepared
}

// sealedWait is how long an endpoint is left alone whose secrets could not be opened: the key service may come back.
const sealedWait = time.Minute

// config is the part of a webhook's configuration that sending needs.
type config struct {
	URL       string            `json:"url"`
	Events    []string          `json:"events"`
	Headers   map[string]string `json:"headers"`
	RateLimit int               `json:"rateLimit"`
}

// Subscribes reports whether the endpoint asked for an event and may have it at all.
func (e *Endpoint) Subscribes(name string) bool {
	return e.Has(integration.EventDeliver) && event.Matches(e.events, name)
}

// Held reports whether a delivery has to wait for somebody to certify or enable the endpoint, and which.
func (e *Endpoint) Held(now time.Time) (because string, held bool) {
	switch {
	case e.target == nil && !e.sealed:
		return "configuration", true
	case !e.Enabled:
		return "disabled", true
	case !e.Allows(integration.EventDeliver, now):
		return "sandbox", true
	}
	return "", false
}

// Wait reports whether the endpoint must be left alone for now, and until when: its breaker is open, its rate is used
// up, or its secrets cannot be opened. Those who are told to wait are told different times. It is to be asked last: who
// need not wait has taken a turn.
func (e *Endpoint) Wait(now time.Time) (until time.Time, wait bool) {
	if e.sealed {
		return now.Add(sealedWait + SpillDelay()), true
	}
	return e.health.wait(now)
}

// Endpoint prepares one endpoint from the store.
func (c *Courier) Endpoint(ctx context.Context, company store.Company, provider string) (*Endpoint, error) {
	i, version, err := integration.Load(ctx, company, provider)
	if err != nil {
		return nil, err
	}
	return c.prepare(ctx, company, integration.Stored{Integration: i, Version: version})
}

// prepare errs only where trying again helps soon. What is wrong with one endpoint for longer is no error, because it
// would keep its company's other endpoints, and everybody behind them in the feed, from being sent to: what is sent to
// this one waits or is held.
func (c *Courier) prepare(ctx context.Context, company store.Company, stored integration.Stored) (*Endpoint, error) {
	e := &Endpoint{Company: company, Integration: stored.Integration, version: stored.Version}
	unusable := func(err error) {
		c.Logger.ErrorContext(ctx, "endpoint cannot be used", "company", company.ID(), "provider", stored.Provider, "error", err)
	}
	var conf config
	if err := json.Unmarshal(stored.Config, &conf); err != nil {
		unusable(err)
	}
	e.events, e.health = conf.Events, c.health.of(company.ID(), stored.Provider, conf.RateLimit)
	secrets, _, err := integration.LoadSecrets(ctx, company, c.Vault, stored.Provider)
	switch {
	case ctx.Err() != nil || errors.Is(err, store.ErrUnavailable):
		return nil, fmt.Errorf("prepare %s: %w", stored.Provider, cmp.Or(err, ctx.Err()))
	case err != nil:
		unusable(err)
		e.sealed = true
		return e, nil
	}
	if e.target, err = webhook.NewEndpoint(conf.URL, secrets.Live(c.Now()), conf.Headers); err != nil {
		unusable(err)
		e.target = nil
	}
	return e, nil
}

// Endpoints is every endpoint of a company that events go to, from memory where that is fresh. With names, those that asked
// for none of these events may be left out: where nothing is remembered, opening their secrets would be the most
// expensive part of an event that nobody is sent.
func (c *Courier) Endpoints(ctx context.Context, companyID string, names ...string) ([]*Endpoint, error) {
	now := c.Now()
	if known, ok := c.cache.get(companyID, now); ok {
		return known, nil
	}
	turn := c.cache.turn()
	company := store.For(c.Store, companyID)
	all, err := integration.List(ctx, company)
	if err != nil {
		return nil, err
	}
	endpoints := []*Endpoint{}
	for _, stored := range all {
		if !stored.Has(integration.EventDeliver) || c.Fresh == 0 && !asks(stored.Integration, names) {
			continue
		}
		e, err := c.prepare(ctx, company, stored)
		if err != nil {
			return nil, err
		}
		endpoints = append(endpoints, e)
	}
	c.cache.put(companyID, endpoints, now, turn)
	return endpoints, nil
}

// asks reports whether an endpoint may have asked for one of these events; without names every one has.
func asks(i integration.Integration, names []string) bool {
	var conf config
	if err := json.Unmarshal(i.Config, &conf); err != nil || len(names) == 0 {
		return true
	}
	return slices.ContainsFunc(names, func(name string) bool { return event.Matches(conf.Events, name) })
}

// Renew is the endpoint as it stands now: the same one, unless it may have changed since it was prepared. One that is
// gone is fault.NotFound.
func (c *Courier) Renew(ctx context.Context, e *Endpoint) (*Endpoint, error) {
	if !e.stale.Load() {
		return e, nil
	}
	all, err := c.Endpoints(ctx, e.Company.ID())
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.Provider == e.Provider {
			return one, nil
		}
	}
	return nil, fault.New(fault.NotFound, "the endpoint was deleted")
}

// Forget drops what is remembered of a company's endpoints: one of them changed.
func (c *Courier) Forget(companyID string) { c.cache.drop(companyID) }
