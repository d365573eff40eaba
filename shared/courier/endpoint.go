package courier

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/event"
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
	health  *health
}

// Config is the part of a webhook's configuration that sending needs.
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
	case e.target == nil:
		return "configuration", true
	case !e.Enabled:
		return "disabled", true
	case !e.Allows(integration.EventDeliver, now):
		return "sandbox", true
	}
	return "", false
}

// Wait reports whether the endpoint must be left alone for now, and until when: its breaker is open, or its rate is
// used up.
func (e *Endpoint) Wait(now time.Time) (until time.Time, wait bool) { return e.health.wait(now) }

// Endpoint prepares one endpoint from the store.
func (c *Courier) Endpoint(ctx context.Context, company store.Company, provider string) (*Endpoint, error) {
	i, version, err := integration.Load(ctx, company, provider)
	if err != nil {
		return nil, err
	}
	return c.prepare(ctx, company, integration.Stored{Integration: i, Version: version})
}

func (c *Courier) prepare(ctx context.Context, company store.Company, stored integration.Stored) (*Endpoint, error) {
	var conf config
	if err := json.Unmarshal(stored.Config, &conf); err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", stored.Provider, err)
	}
	secrets, _, err := integration.LoadSecrets(ctx, company, c.Vault, stored.Provider)
	if err != nil {
		return nil, err
	}
	target, err := webhook.NewEndpoint(conf.URL, secrets.Live(c.Now()), conf.Headers)
	if err != nil { // what is sent to it is held, and its company's other endpoints go on
		c.Logger.ErrorContext(ctx, "endpoint cannot be used", "company", company.ID(), "provider", stored.Provider, "error", err)
		target = nil
	}
	return &Endpoint{
		Company: company, Integration: stored.Integration, version: stored.Version, events: conf.Events, target: target,
		health: c.health.of(company.ID(), stored.Provider, conf.RateLimit),
	}, nil
}

// Endpoints is every endpoint of a company that events go to, from memory where that is fresh.
func (c *Courier) Endpoints(ctx context.Context, companyID string) ([]*Endpoint, error) {
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
		if !stored.Has(integration.EventDeliver) {
			continue
		}
		e, err := c.prepare(ctx, company, stored)
		if err != nil {
			return nil, fmt.Errorf("prepare %s: %w", stored.Provider, err)
		}
		endpoints = append(endpoints, e)
	}
	c.cache.put(companyID, endpoints, now, turn)
	return endpoints, nil
}

// Forget drops what is remembered of a company's endpoints: one of them changed.
func (c *Courier) Forget(companyID string) { c.cache.drop(companyID) }
