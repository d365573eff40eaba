package ticker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/base/wait"
	"orgops/shared/domain/event"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/genericwebhook"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/standardwebhooks"
)

// Times of the canary's deliveries.
const (
	echoEvery = 15 * time.Minute
	echoFor   = 100 * 365 * 24 * time.Hour // how long its endpoint is certified; no user certifies it again
)

// echoes changes a goal every quarter of an hour. Its event goes to an endpoint of the canary, which is the service's own inbound address, over
// HTTP and signed as any other. What arrives there changes a memory. So a delivery that fails on the way out or in is counted.
func (t *Ticker) echoes(ctx context.Context, c store.Company, now time.Time) error {
	endpoint, err := t.echo(ctx, c, now)
	if err != nil {
		return err
	}
	var back memory.Memory
	_, err = c.Get(ctx, memory.Key(memory.IDOf(endpoint.Provider, endpoint.Incarnation, CanaryCompany)), &back)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	sent, _ := goal.Apply(goal.Goal{}, CanaryCompany, goal.Draft{ExternalID: CanaryCompany, Title: now.Format(time.RFC3339), State: goal.Open}, now)
	item, err := c.Get(ctx, goal.Key(sent.ID), nil)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	again := echoEvery
	if item.At.After(back.UpdatedAt) {
		again = canaryAgain
		if since := wait.Later(back.UpdatedAt, endpoint.CreatedAt); now.Sub(since) > echoEvery+canaryLate {
			t.late(ctx, "a delivery's receiver", since)
		}
	}
	if item.Version > 0 && now.Sub(item.At) < again {
		return nil
	}
	return taken(c.Commit(ctx, c.Save(goal.Key(sent.ID), goal.Entity, item.Version, sent)))
}

// echo returns the canary's endpoint. It configures the endpoint if it is missing, if it was disabled or put into the sandbox because
// deliveries failed, or if the service has another address now.
func (t *Ticker) echo(ctx context.Context, c store.Company, now time.Time) (integration.Integration, error) {
	config, err := json.Marshal(genericwebhook.Config{
		URL: t.Base + "/inbound/" + c.ID() + "/" + genericwebhook.Kind, Events: []string{event.GoalUpdated},
		Transform: `{type: "memory.upsert", data: {externalId: "` + CanaryCompany + `", kind: "canary", title: .data.title}}`,
	})
	if err != nil {
		return integration.Integration{}, err
	}
	was, version, err := integration.Load(ctx, c, genericwebhook.Kind)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return was, err
	}
	if version > 0 && was.Allows(integration.EventDeliver, now) && string(was.Config) == string(config) {
		return was, nil
	}
	ports := []integration.Port{integration.EventDeliver, integration.InboundReceive, integration.MemoryUpsert}
	next := integration.Integration{
		Provider: genericwebhook.Kind, Kind: genericwebhook.Kind, Incarnation: id.New(), State: integration.Certified, Enabled: true, Config: config,
		Permissions: ports, Certification: &integration.Certification{PassedAt: now, ExpiresAt: now.Add(echoFor), Ports: ports},
		SecretAt: &now, CreatedAt: now, UpdatedAt: now,
	}
	return next, t.configure(ctx, c, next, version)
}

// configure stores the canary's endpoint with a new signing secret, in place of the one at a version.
func (t *Ticker) configure(ctx context.Context, c store.Company, next integration.Integration, version int64) error {
	value, err := standardwebhooks.GenerateSecret(rand.Reader)
	if err != nil {
		return err
	}
	_, secretsVersion, err := integration.LoadSecrets(ctx, c, t.Vault, next.Provider)
	if err != nil {
		return err
	}
	secrets, err := integration.SaveSecrets(ctx, c, t.Vault, next, secretsVersion, integration.Secrets{}.Rotate(value, next.CreatedAt, 0))
	if err != nil {
		return err
	}
	write := integration.Create(c, next)
	if version > 0 {
		write = c.Replace(integration.Key(next.Provider), integration.Entity, version, next)
	}
	return taken(c.Commit(ctx, write, secrets))
}
