// Package disabling decides whether the service disables an endpoint that is gone or has failed for days. The policy engine
// decides, as on every automated action. If it does not permit the action, the endpoint stays enabled.
package disabling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
)

// Case holds an endpoint and why the service would disable it.
type Case struct {
	Company     store.Company
	Integration integration.Integration
	Version     int64  // of the stored integration
	Reason      string // integration.DisabledGone or integration.DisabledFailing
	Now         time.Time

	// Approval holds the digest of the action that a person has approved, or "".
	Approval string
}

// Planned holds the decision of a case and the writes that follow from it. A refusal that is recorded for the day already has
// no writes.
type Planned struct {
	Decision policy.Decision
	Ops      []store.Op
	Disables bool // the writes disable the endpoint
}

// exact identifies the action. The version changes with the configuration, so that an approval holds for this endpoint alone.
type exact struct {
	Provider string `json:"provider"`
	Reason   string `json:"reason"`
	Version  int64  `json:"version"`
}

// Question asks the policy engine whether the service may disable the endpoint of a case.
func (c Case) Question() policy.Request {
	return policy.Request{
		Principal: policy.Service(), Action: policy.EndpointDisable,
		Resource: timeline.Reference{Type: integration.Entity, ID: c.Integration.Provider},
		Context: policy.Context{
			Port: policy.EndpointDisable, Permissions: []string{policy.EndpointDisable}, Enabled: true, Certified: true,
		},
		Item:     policy.Item{Provider: c.Integration.Provider, Title: c.Integration.Provider, Reason: c.Reason},
		Payload:  exact{c.Integration.Provider, c.Reason, c.Version},
		Approval: c.Approval, Current: c.Approval != "",
	}
}

// Plan decides on a case and plans its writes. The commit of the writes returns store.ErrConflict if the integration has
// changed since, or if another process has recorded the same decision. Each verdict on an endpoint is recorded once a day, until the
// configuration changes.
func (c Case) Plan(ctx context.Context, engine policy.Engine) (Planned, error) {
	question := c.Question()
	d, err := policy.Ask(ctx, engine, c.Company, question, c.Now)
	if err != nil {
		return Planned{}, err
	}
	if c.Approval == "" { // an approved action is decided once anyway
		day := c.Now.UTC().Truncate(24 * time.Hour)
		d.ID = id.At(day, policy.EndpointDisable, c.Integration.Provider, c.Reason, fmt.Sprint(c.Version), string(d.Verdict))
	}
	p := Planned{Decision: d, Disables: d.Verdict == policy.Permitted}
	if p.Disables {
		p.Ops = []store.Op{policy.Create(c.Company, d), c.Company.Replace(integration.Key(c.Integration.Provider), integration.Entity, c.Version, c.disabled())}
		return p, nil
	}
	if _, err = c.Company.Get(ctx, policy.Prefix+d.ID, nil); !errors.Is(err, store.ErrNotFound) {
		return p, store.Fault(err, "") // without an error, the same refusal is recorded already
	}
	if d.Verdict == policy.NeedsApproval && c.Approval == "" {
		p.Ops, err = c.ask(ctx, d, question.Payload)
		return p, err
	}
	p.Ops = []store.Op{policy.Create(c.Company, d), c.refusal(d)}
	return p, nil
}

// disabled returns the integration as it is afterwards. An endpoint that has failed for days must also be certified again.
func (c Case) disabled() integration.Integration {
	i := c.Integration
	if c.Reason == integration.DisabledFailing {
		i = i.Sandboxed(integration.SandboxedByFailing, c.Now)
	}
	i.Disable(c.Reason, c.Now)
	return i
}

// ask plans the request for an approval, unless one waits or was rejected a short time ago.
func (c Case) ask(ctx context.Context, d policy.Decision, payload any) ([]store.Op, error) {
	ops := []store.Op{policy.Create(c.Company, d)}
	mark, version, err := approval.FindMark(ctx, c.Company, d.ActionDigest)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	if mark.Holds(c.Now) {
		return ops, nil
	}
	text, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	request := approval.New(d, text, "Disable "+c.Integration.Provider, d.Principal)
	return append(ops, request.Request(c.Company, version)...), nil
}

// refusal returns the op that notes a refusal on the timeline.
func (c Case) refusal(d policy.Decision) store.Op {
	e := timeline.Entry{
		ID: timeline.ID(c.Now, timeline.PolicyDenied, d.ID), At: c.Now, Kind: timeline.PolicyDenied, Actor: d.Principal,
		Title:   "the service was not allowed to disable " + c.Integration.Provider,
		Subject: timeline.Reference{Type: policy.Entity, ID: d.ID},
	}
	return e.Create(c.Company)
}

// Restore returns the case of an approval. It returns a fault.Conflict if the endpoint was disabled, changed or deleted
// after the approval was asked for.
func Restore(ctx context.Context, c store.Company, a approval.Approval, now time.Time) (Case, error) {
	var e exact
	if err := json.Unmarshal(a.Payload, &e); err != nil {
		return Case{}, fmt.Errorf("restore %s: %w", a.Action, err)
	}
	i, version, err := integration.Load(ctx, c, e.Provider)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return Case{}, err
	}
	if err != nil || version != e.Version || !i.Enabled {
		return Case{}, fault.Newf(fault.Conflict, "%s has changed since the approval was asked for; reject the approval", e.Provider)
	}
	return Case{Company: c, Integration: i, Version: version, Reason: e.Reason, Now: now, Approval: a.Digest}, nil
}
