package integrations

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/mapping"
	"orgops/shared/provider/trial"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// MappingDocument shows a mapping in the API. Package mapping checks it.
type MappingDocument struct {
	Only      string          `json:"only,omitempty" maxLength:"2048" doc:"expression; an arrival for which it gives null or false is accepted and ignored" example:".payload.action != \"deleted\""`
	Rules     []MappingRule   `json:"rules" minItems:"1" maxItems:"50" nullable:"false" doc:"the rules in order; the first that matches decides"`
	Otherwise *MappingRefusal `json:"otherwise,omitempty" doc:"refuses an arrival that no rule matches; without it, such an arrival is accepted and ignored"`

	Tests []trial.MappingTest `json:"tests,omitempty" maxItems:"20" nullable:"false" doc:"arrivals with the actions that the mapping must give. They are stored with it, and a mapping that fails one is refused"`

	nulls []fault.FieldError // the members that are null, which the schema does not allow
}

// UnmarshalJSON notes the nulls. Huma takes a null for a member that is missing.
func (d *MappingDocument) UnmarshalJSON(raw []byte) error {
	type plain MappingDocument
	if err := json.Unmarshal(raw, (*plain)(d)); err != nil {
		return err
	}
	d.nulls = slices.DeleteFunc(nulls(raw, ""), func(p fault.FieldError) bool { return given.Matches(p.Pointer) })
	return nil
}

// given matches what the tests of a mapping give and expect, where null is a value.
const given text.Pattern = `^/tests/[0-9]+/(payload|actions/[0-9]+/fields/)`

// MappingRule says which arrivals match and which action they ask for.
type MappingRule struct {
	When     string            `json:"when" maxLength:"2048" doc:"expression; the rule matches if its value is neither null nor false" example:".payload.type == \"ticket\""`
	Each     string            `json:"each,omitempty" maxLength:"2048" doc:"path below the payload of what the action is about, .item in the expressions of with; a list gives one action for each item" example:".payload.ticket"`
	Action   integration.Port  `json:"action" enum:"memory.upsert,goal.update,timeline.note" doc:"what the arrival asks for"`
	With     map[string]string `json:"with" nullable:"false" doc:"the action's fields, each with the expression of its value" example:"{\"externalId\":\".item.id\",\"title\":\".item.subject\"}"`
	Continue bool              `json:"continue,omitempty" doc:"asks the rules below too, even if this rule matches"`
}

// MappingRefusal says what is wrong with an arrival that no rule matches.
type MappingRefusal struct {
	Pointer string `json:"pointer" maxLength:"200" doc:"JSON Pointer of what is wrong in the arrival's body" example:"/type"`
	Detail  string `json:"detail" minLength:"1" maxLength:"200" doc:"what is wrong and what would be right" example:"must be ticket"`
}

// IntegrationMapping answers which mapping applies to an integration.
type IntegrationMapping struct {
	Source    string          `json:"source" enum:"default,company" doc:"default: the provider's mapping, which every company has; company: a mapping that the company has stored"`
	Version   int64           `json:"version" doc:"increments each time the company stores a mapping; 0 for the default"`
	Digest    string          `json:"digest" doc:"SHA-256 of the mapping, base64url; a certification names it"`
	UpdatedAt *time.Time      `json:"updatedAt,omitempty" doc:"when the company stored it"`
	Mapping   MappingDocument `json:"mapping" doc:"the mapping; store a changed copy of it"`
}

// receiver holds an integration that receives webhooks, and its mapping.
type receiver struct {
	integration.Stored
	conn    connector.Inbound
	own     integration.StoredMapping // the company's mapping; it applies if the integration names it
	version int64                     // of the company's last mapping; 0 if it never stored one
}

// receiver reads an integration that receives webhooks.
func (d Deps) receiver(ctx context.Context, provider string) (receiver, error) {
	stored, err := d.load(ctx, provider)
	if err != nil {
		return receiver{}, err
	}
	conn, err := d.Connectors.Of(ctx, web.Tenant(ctx), stored.Integration)
	if err != nil {
		return receiver{}, err
	}
	inbound, ok := conn.(connector.Inbound)
	if !ok {
		return receiver{}, fault.Newf(fault.Conflict, "%s receives no webhooks, so it has no mapping", provider)
	}
	r := receiver{Stored: stored, conn: inbound}
	r.own, r.version, err = integration.LoadMapping(ctx, web.Tenant(ctx), provider)
	return r, err
}

// current returns the mapping that applies, and its digest.
func (r receiver) current() (raw json.RawMessage, digest string) {
	if r.Mapping != nil {
		return r.own.Mapping, r.own.Digest
	}
	return r.conn.Mapping(), connector.Digest(r.conn.Mapping())
}

// revision identifies the mapping that applies, as the first part of its ETag.
func (r receiver) revision() string {
	_, digest := r.current()
	if r.Mapping == nil {
		return "0-" + digest[:16]
	}
	return fmt.Sprintf("%d-%s", r.version, digest[:16])
}

// show returns the mapping that applies in the form of the API.
func (r receiver) show() (out IntegrationMapping, err error) {
	raw, digest := r.current()
	out = IntegrationMapping{Source: "default", Digest: digest}
	if r.Mapping != nil {
		out.Source, out.Version, out.UpdatedAt = "company", r.version, &r.own.At
	}
	if err := json.Unmarshal(raw, &out.Mapping); err != nil {
		return out, err
	}
	out.Mapping.Tests, err = r.tests()
	return out, err
}

type mappingInput struct {
	ProviderInput
	web.IfNoneMatch
}

func (d Deps) getMapping(ctx context.Context, in *mappingInput) (*web.Tagged[IntegrationMapping], error) {
	r, err := d.receiver(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	return web.Respond(in.IfNoneMatch, web.ETag(r.revision()), r.show)
}

type putMappingInput struct {
	ChangeInput
	Body MappingDocument
}

// putMapping checks and stores the company's mapping. It commits the mapping with its digest in the integration, which every
// arrival reads. The integration keeps its certification: a mapping opens no port, and the policy engine decides on each
// action as before.
func (d Deps) putMapping(ctx context.Context, in *putMappingInput) (*web.Tagged[IntegrationMapping], error) {
	if err := fault.Refuse(in.Body.nulls); err != nil {
		return nil, err
	}
	r, err := d.receiver(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	if err := in.Check(r.revision()); err != nil {
		return nil, err
	}
	raw, err := checked(in.Body)
	if err != nil {
		return nil, err
	}
	tests, err := r.tested(ctx, raw, in.Body.Tests)
	if err != nil {
		return nil, err
	}
	c, now, was := web.Tenant(ctx), d.Now().UTC(), r.version
	r.version++
	r.own = integration.StoredMapping{Mapping: raw, Tests: tests, Digest: connector.Digest(raw), By: web.CallerOf(ctx).UserID, At: now}
	r.Mapping, r.UpdatedAt = &integration.MappingRef{Digest: r.own.Digest, At: now}, now
	err = c.Commit(ctx, c.Replace(integration.Key(in.Provider), integration.Entity, r.Version, r.Integration),
		integration.SaveMapping(c, in.Provider, was, r.own))
	if err != nil {
		return nil, in.Overtaken(store.Fault(err, ""))
	}
	shown, err := r.show()
	return &web.Tagged[IntegrationMapping]{Status: http.StatusOK, ETag: web.ETag(r.revision()), Body: &shown}, err
}

// checked returns the canonical form of a mapping without its tests, or an error with every problem and its place.
func checked(d MappingDocument) (json.RawMessage, error) {
	d.Tests = nil
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	if raw, err = connector.Canonical(raw); err != nil {
		return nil, err
	}
	_, err = mapping.Parse(raw)
	return raw, err
}

// deleteMapping returns an integration to its provider's default mapping. The company's mapping stays stored, without effect,
// so that the versions of the mappings that follow count on.
func (d Deps) deleteMapping(ctx context.Context, in *ChangeInput) (*struct{}, error) {
	r, err := d.receiver(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	if err := in.Check(r.revision()); err != nil {
		return nil, err
	}
	if r.Mapping == nil {
		return nil, nil //nolint:nilnil // 204: the default applies already
	}
	c := web.Tenant(ctx)
	r.Mapping, r.UpdatedAt = nil, d.Now().UTC()
	return nil, in.Overtaken(store.Fault(c.Commit(ctx, c.Replace(integration.Key(in.Provider), integration.Entity, r.Version, r.Integration)), ""))
}
