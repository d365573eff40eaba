package integrations

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fastjson"
	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
	"orgops/shared/web"
	"orgops/shared/webhook/standardwebhooks"
)

// secretField names the configuration's field with the signing secret.
const secretField = "signingSecret"

type configureInput struct {
	ProviderInput
	web.Creation
	RawBody []byte `contentType:"application/json"`
}

// configureOperation documents the request body with each connector's schema and example. The webhook's example comes
// first, because it matches the path's example provider.
func (d Deps) configureOperation(op huma.Operation) huma.Operation {
	body := web.Body{Components: map[string]*huma.Schema{}}
	config := &huma.Schema{Description: "The provider's configuration; its schema depends on the provider."}
	for _, kind := range slices.Backward(d.Connectors.Kinds()) {
		c, _ := d.Connectors.Lookup(kind)
		name, schema, example := configSchema(c)
		if patterns := eventPatterns(schema); patterns != nil {
			body.Components["EventPattern"] = patterns
		}
		body.Components[name] = &huma.Schema{Extensions: schema}
		config.AnyOf = append(config.AnyOf, &huma.Schema{Ref: web.ComponentRef(name)})
		if example != nil {
			body.Examples = append(body.Examples, web.Example{Name: kind, Summary: "provider " + kind, Value: example})
		}
	}
	body.Components["IntegrationConfig"], body.Schema = config, &huma.Schema{Ref: web.ComponentRef("IntegrationConfig")}
	op.Responses = map[string]*huma.Response{"200": {Description: "Reconfigured"}}
	return web.DescribeBody(op, body)
}

// configSchema returns a connector's configuration schema, the schema's name in the document, and its first example. The
// name begins with the first word of the schema's title, such as WebhookConfig.
func configSchema(c connector.Connector) (name string, schema map[string]any, example any) {
	if err := json.Unmarshal(c.Schema(), &schema); err != nil {
		panic(fmt.Sprintf("integrations: schema of %s: %v", c.Kind(), err)) // the schemas are part of the program
	}
	title, _ := schema["title"].(string)
	first, _, _ := strings.Cut(title, " ")
	if examples, ok := schema["examples"].([]any); ok && len(examples) > 0 {
		example = examples[0]
	}
	documentPermissions(schema)
	delete(schema, "$schema")
	delete(schema, "$id")
	return first + "Config", schema, example
}

// eventPatterns removes the enumeration of event patterns from a schema, leaves a reference to a component, and returns the
// component. It returns nil if the schema has no such enumeration.
func eventPatterns(schema map[string]any) *huma.Schema {
	properties, _ := schema["properties"].(map[string]any)
	events, _ := properties["events"].(map[string]any)
	items, _ := events["items"].(map[string]any)
	patterns, _ := items["enum"].([]any)
	if patterns == nil {
		return nil
	}
	events["items"] = map[string]any{"$ref": web.ComponentRef("EventPattern")}
	return &huma.Schema{Type: huma.TypeString, Enum: patterns, Description: "An event's name, or a category such as memory.*"}
}

type configuredOutput struct {
	Status   int
	Location string `header:"Location" doc:"the integration's path, if it was created"`
	ETag     string `header:"ETag"`
	Body     Configured
}

func (d Deps) configureIntegration(ctx context.Context, in *configureInput) (*configuredOutput, error) {
	conn, err := d.Connectors.Find(ctx, web.Tenant(ctx), in.Provider)
	if err != nil {
		return nil, err
	}
	request, asked, err := takePermissions(fastjson.Whole(connector.Page(in.RawBody)))
	if err != nil {
		return nil, err
	}
	request, title, err := takeTitle(request)
	if err != nil {
		return nil, err
	}
	if err := check(conn, request); err != nil {
		return nil, err
	}
	config, secrets, err := connector.Split(conn, request)
	if err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	old, version, err := integration.Load(ctx, c, in.Provider)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return nil, err
	}
	if err := in.Check(revision(integration.Stored{Integration: old, Version: version})); err != nil {
		return nil, err
	}
	if config, err = d.pin(config, old.Config); err != nil {
		return nil, err
	}
	ports := old.Asks(conn.Ports(config))
	permissions, err := narrow(ports, asked, old)
	if err != nil {
		return nil, err
	}
	if err := checkWidening(ctx, conn, old, request, permissions); err != nil {
		return nil, err
	}
	change := configuration{
		Deps: d, title: cmp.Or(title, &old.Title), permissions: permissions, narrowed: len(permissions) < len(ports), company: c, conn: conn, provider: in.Provider, config: config, secret: secrets[secretField],
		headers: secretHeaders(request), by: web.CallerOf(ctx).UserID, now: d.Now().UTC(),
	}
	var out *configuredOutput
	if version == 0 {
		out, err = change.create(ctx)
	} else {
		out, err = change.replace(ctx, old, version)
	}
	return out, in.Overtaken(err)
}

// check returns an error that lists all problems of a configuration request. It checks the connector's schema and, if the
// schema accepts the request, the connector's own rules. No problem quotes a value.
func check(c connector.Connector, request json.RawMessage) error {
	problems, err := web.CheckBody(c.Schema(), request)
	if err != nil {
		return err
	}
	problems = append(problems, connector.CheckTables(request)...)
	if checker, ok := c.(connector.Checker); ok && len(problems) == 0 {
		problems = checker.CheckConfig(request)
	}
	if len(problems) == 0 && slices.Contains(c.Ports(request), integration.EventDeliver) {
		problems = subscriptionOf(request).problems()
	}
	return fault.Refuse(problems)
}

// configuration holds one checked request, split into configuration and secret.
type configuration struct {
	Deps
	company  store.Company
	conn     connector.Connector
	provider string
	config   json.RawMessage
	secret   string            // "" if the request has none
	headers  map[string]string // the secret ones; nil if the request has none

	title       *string
	permissions []integration.Port
	narrowed    bool // they are fewer than the integration asks for
	by          string
	now         time.Time
}

func (r configuration) create(ctx context.Context) (*configuredOutput, error) {
	i := integration.Integration{
		Provider: r.provider, Kind: r.conn.Kind(), Incarnation: id.At(r.now, web.RequestID(ctx)), State: integration.Sandbox, Enabled: true, Config: r.config,
		Title: *r.title, Permissions: r.permissions, Narrowed: r.narrowed, ConfiguredBy: r.by, CreatedAt: r.now, UpdatedAt: r.now, Manifest: connector.ManifestOf(r.conn),
	}
	secrets, created, err := r.sign(r.hide(integration.Secrets{}, &i), &i)
	if err != nil {
		return nil, err
	}
	_, secretsVersion, err := integration.LoadSecrets(ctx, r.company, r.Vault, r.provider)
	if err != nil {
		return nil, err
	}
	if err := r.commit(ctx, &i, 0, secrets, secretsVersion); err != nil {
		return nil, err
	}
	out, err := r.configured(ctx, i, i.First(), created)
	if err != nil {
		return nil, err
	}
	out.Status, out.Location = http.StatusCreated, href(ctx, "/integrations/%s", r.provider)
	return out, nil
}

// replace changes the configuration. It keeps the signing secrets, the credentials of the same origin, and whether the
// integration is enabled.
func (r configuration) replace(ctx context.Context, old integration.Integration, version int64) (*configuredOutput, error) {
	i := old
	if old.IsDamaged() { // what could not be read starts again
		i.Damaged, i.Enabled, i.CreatedAt = nil, true, r.now
	}
	i.Config, i.Permissions, i.Narrowed, i.ConfiguredBy, i.UpdatedAt = r.config, r.permissions, r.narrowed, r.by, r.now
	i.Title, i.Manifest = *r.title, connector.ManifestOf(r.conn)
	changed, err := connector.Changed(r.conn, old.Config, r.config)
	if err != nil {
		return nil, err
	}
	if len(changed) > 0 { // it may name another place
		i.Place = nil
	}
	if (len(changed) > 0 || !slices.Equal(i.Permissions, old.Permissions)) && old.State == integration.Certified {
		i = i.Sandboxed(integration.SandboxedByChange, r.now)
	}
	secrets, secretsVersion, err := integration.LoadSecrets(ctx, r.company, r.Vault, r.provider)
	if err != nil {
		return nil, err
	}
	had := secrets
	secrets = r.hide(r.keepCredentials(secrets, old, &i), &i)
	secrets, created, err := r.sign(secrets, &i)
	if err != nil {
		return nil, err
	}
	if err := r.commit(ctx, &i, version, secrets, secretsVersion, r.disconnected(ctx, old, had, secrets)...); err != nil {
		return nil, err
	}
	return r.configured(ctx, i, version+1, created)
}

// keepCredentials ends the credentials if the configuration sends them to another origin than they were stored for.
func (r configuration) keepCredentials(s integration.Secrets, old integration.Integration, i *integration.Integration) integration.Secrets {
	was, is := cmp.Or(s.Origin, connector.Origin(r.conn, old.Config)), connector.Origin(r.conn, r.config)
	if len(s.Values)+len(s.Grant) == 0 {
		return s
	}
	if s.Origin = is; was != is {
		s.Values, s.Grant, i.Credentials, i.Connection = nil, nil, nil, nil
	}
	return s
}

// secretHeaders returns the secret headers of a checked request, nil if it has no such field.
func secretHeaders(request json.RawMessage) map[string]string {
	var given struct {
		SecretHeaders map[string]string `json:"secretHeaders"`
	}
	_ = json.Unmarshal(request, &given) // a checked request is an object, in which the field has strings
	return given.SecretHeaders
}

// hide stores the request's secret headers in place of those before, for the origin of its url.
func (r configuration) hide(s integration.Secrets, i *integration.Integration) integration.Secrets {
	switch {
	case r.headers == nil:
	case len(r.headers) == 0:
		s.Values, i.Credentials = nil, nil
	default:
		storeCredentials(r.conn, i, &s, r.headers, r.now)
	}
	return s
}

// storeCredentials puts credentials in place of those before, for the origin of the configuration.
func storeCredentials(c connector.Connector, i *integration.Integration, s *integration.Secrets, values map[string]string, now time.Time) {
	s.Values, s.Grant, s.Origin, i.Connection = values, nil, connector.Origin(c, i.Config), nil
	i.Credentials = &integration.CredentialNames{Names: slices.Sorted(maps.Keys(values)), UpdatedAt: now}
}

// configured returns the answer for the integration that was written as version. It includes the signing secret if this
// request generated it.
func (r configuration) configured(ctx context.Context, i integration.Integration, version int64, created string) (*configuredOutput, error) {
	shown, err := r.answer(ctx, integration.Stored{Integration: i, Version: version})
	if err != nil {
		return nil, err
	}
	return &configuredOutput{
		Status: http.StatusOK, ETag: shown.ETag, Body: Configured{Integration: shown.Body, SigningSecret: created},
	}, nil
}

// sign adds the request's signing secret to s. If the request has none, and the endpoint needs one and has none, sign
// generates a secret and returns it as created. It changes nothing if the request's secret is the current one.
func (r configuration) sign(s integration.Secrets, i *integration.Integration) (secrets integration.Secrets, created string, err error) {
	live := s.Live(r.now)
	value := r.secret
	if value == "" && len(live) == 0 && i.Has(integration.EventDeliver) {
		if value, err = standardwebhooks.GenerateSecret(rand.Reader); err != nil {
			return s, "", err
		}
		created = value
	}
	if value == "" || len(live) > 0 && live[0] == value {
		return s, "", nil
	}
	i.SecretAt = &r.now
	return s.Rotate(value, r.now, integration.RotationGrace), created, nil
}

// write commits the writes of an integration. A new one takes its turn, so that requests at once cannot exceed the limit.
func (r configuration) write(ctx context.Context, version int64, ops []store.Op) error {
	if version > 0 {
		return r.company.Commit(ctx, ops...)
	}
	return r.company.InTurn(ctx, "integrations", func() ([]store.Op, error) { return ops, r.room(ctx) })
}

// room returns fault.Conflict if the company has as many integrations as it may have.
func (r configuration) room(ctx context.Context) error {
	all, err := integration.List(ctx, r.company)
	plan := web.CallerOf(ctx).Plan
	if most := integration.Most(plan); err == nil && len(all) >= most {
		err = fault.Newf(fault.Conflict, "a company on the plan %s has at most %d integrations; delete one first", plan, most)
	}
	same := 0
	for _, i := range all {
		if i.Manifest != nil && i.Kind == r.conn.Kind() {
			same++
		}
	}
	if err == nil && same >= integration.MaxOfManifest {
		err = fault.Newf(fault.Conflict, "a manifest describes at most %d integrations; delete one first, or store the manifest as another kind", integration.MaxOfManifest)
	}
	return err
}

// commit writes the integration with the schedule that it asks for, and its secrets.
func (r configuration) commit(ctx context.Context, i *integration.Integration, version int64, s integration.Secrets, secretsVersion int64, more ...store.Op) error {
	ops := slices.Concat(more, i.Reschedule(r.company, r.now))
	write := integration.Create(r.company, *i)
	if version > 0 {
		write = r.company.Replace(integration.Key(r.provider), integration.Entity, version, i)
	}
	ops = append(ops, write)
	if i.Manifest != nil {
		op, err := integration.DescribedBy(ctx, r.company, i.Kind, *i.Manifest)
		if err != nil {
			return err
		}
		ops = append(ops, op)
	}
	if len(s.Signing) > 0 || len(s.Values) > 0 || secretsVersion > 0 {
		op, err := integration.SaveSecrets(ctx, r.company, r.Vault, *i, secretsVersion, s)
		if err != nil {
			return err
		}
		ops = append(ops, op)
	}
	err := r.write(ctx, version, ops)
	if errors.Is(err, store.ErrConflict) {
		return fault.Wrap(fault.Conflict, "the integration was changed concurrently; read it again and retry", err)
	}
	return store.Fault(err, "")
}
