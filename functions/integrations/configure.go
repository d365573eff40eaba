package integrations

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/connector"
	"orgops/shared/fault"
	"orgops/shared/integration"
	"orgops/shared/store"
	"orgops/shared/web"
	"orgops/shared/webhook"
)

// secretField is the field of a configuration that holds the signing secret.
const secretField = "signingSecret"

type configureInput struct {
	ProviderInput
	RawBody []byte `contentType:"application/json"`
}

// configureOperation gives the request body the schemas of the connectors, so that the document says what each takes,
// and an example of each. That of the webhook comes first, as it is the example of the path's provider.
func (d Deps) configureOperation(op huma.Operation) huma.Operation {
	var schemas []*huma.Schema
	var examples []web.Example
	for _, kind := range slices.Backward(d.Connectors.Kinds()) {
		c, _ := d.Connectors.Lookup(kind)
		var members map[string]any
		if err := json.Unmarshal(c.Schema(), &members); err != nil {
			panic(fmt.Sprintf("integrations: schema of %s: %v", kind, err)) // a connector's schema is part of the program
		}
		delete(members, "$schema")
		delete(members, "$id")
		schemas = append(schemas, &huma.Schema{Extensions: members})
		if given, ok := members["examples"].([]any); ok && len(given) > 0 {
			examples = append(examples, web.Example{Name: kind, Summary: "provider " + kind, Value: given[0]})
		}
	}
	op.Responses = map[string]*huma.Response{"200": {Description: "Reconfigured"}}
	return web.DescribeBody(op, &huma.Schema{
		OneOf: schemas, Description: "The provider's configuration; its schema depends on the provider.",
	}, examples...)
}

type configuredOutput struct {
	Status   int
	Location string `header:"Location" doc:"the integration, when it was created"`
	ETag     string `header:"ETag"`
	Body     Configured
}

func (d Deps) configureIntegration(ctx context.Context, in *configureInput) (*configuredOutput, error) {
	conn, err := d.Connectors.Find(in.Provider)
	if err != nil {
		return nil, err
	}
	if err := check(conn, in.RawBody); err != nil {
		return nil, err
	}
	config, secrets, err := connector.Split(conn, in.RawBody)
	if err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	old, version, err := integration.Load(ctx, c, in.Provider)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return nil, err
	}
	change := configuration{
		Deps: d, company: c, conn: conn, provider: in.Provider, config: config, secret: secrets[secretField],
		by: web.CallerOf(ctx).UserID, now: d.Now().UTC(),
	}
	if version == 0 {
		return change.create(ctx)
	}
	return change.replace(ctx, old, version)
}

// check refuses a configuration request with everything that is wrong with it: what its schema says and, where that holds,
// what the connector says. No problem quotes a value.
func check(c connector.Connector, request json.RawMessage) error {
	problems, err := web.CheckBody(c.Schema(), request)
	if err != nil {
		return err
	}
	if checker, ok := c.(connector.Checker); ok && len(problems) == 0 {
		problems = checker.CheckConfig(request)
	}
	return fault.Refuse(problems)
}

// configuration is one request to configure, checked and parted.
type configuration struct {
	Deps
	company  store.Company
	conn     connector.Connector
	provider string
	config   json.RawMessage
	secret   string // "": none was given
	by       string
	now      time.Time
}

func (r configuration) create(ctx context.Context) (*configuredOutput, error) {
	all, err := integration.List(ctx, r.company)
	if err != nil {
		return nil, err
	}
	if len(all) >= integration.MaxPerCompany {
		return nil, fault.Newf(fault.Conflict, "a company has at most %d integrations; delete one first", integration.MaxPerCompany)
	}
	i := integration.Integration{
		Provider: r.provider, Kind: r.conn.Kind(), State: integration.Sandbox, Enabled: true, Config: r.config,
		Permissions: r.conn.Ports(r.config), ConfiguredBy: r.by, CreatedAt: r.now, UpdatedAt: r.now,
	}
	secrets, created, err := r.sign(integration.Secrets{}, &i)
	if err != nil {
		return nil, err
	}
	_, secretsVersion, err := integration.LoadSecrets(ctx, r.company, r.Vault, r.provider)
	if err != nil {
		return nil, err
	}
	if err := r.commit(ctx, i, 0, secrets, secretsVersion); err != nil {
		return nil, err
	}
	out, err := r.configured(ctx, i, 1, created)
	if err != nil {
		return nil, err
	}
	out.Status, out.Location = http.StatusCreated, href(ctx, "/integrations/%s", r.provider)
	return out, nil
}

// replace keeps what the request does not speak of: the secrets, the credentials, whether it is enabled.
func (r configuration) replace(ctx context.Context, old integration.Integration, version int64) (*configuredOutput, error) {
	i := old
	i.Config, i.Permissions, i.ConfiguredBy, i.UpdatedAt = r.config, r.conn.Ports(r.config), r.by, r.now
	changed, err := connector.Changed(r.conn, old.Config, r.config)
	if err != nil {
		return nil, err
	}
	if (len(changed) > 0 || !slices.Equal(i.Permissions, old.Permissions)) && old.State == integration.Certified {
		i = i.Sandboxed(integration.SandboxedByChange, r.now)
	}
	secrets, secretsVersion, err := integration.LoadSecrets(ctx, r.company, r.Vault, r.provider)
	if err != nil {
		return nil, err
	}
	secrets, created, err := r.sign(secrets, &i)
	if err != nil {
		return nil, err
	}
	if err := r.commit(ctx, i, version, secrets, secretsVersion); err != nil {
		return nil, err
	}
	return r.configured(ctx, i, version+1, created)
}

// configured shows what was written as version, with the signing secret that was made for it, if one was.
func (r configuration) configured(ctx context.Context, i integration.Integration, version int64, created string) (*configuredOutput, error) {
	shown, err := r.answer(ctx, integration.Stored{Integration: i, Version: version})
	if err != nil {
		return nil, err
	}
	return &configuredOutput{
		Status: http.StatusOK, ETag: shown.ETag, Body: Configured{Integration: shown.Body, SigningSecret: created},
	}, nil
}

// sign takes over the signing secret that was given, or makes one where an endpoint needs one and has none; created is
// the one that was made. A secret that is live already stays as it is.
func (r configuration) sign(s integration.Secrets, i *integration.Integration) (secrets integration.Secrets, created string, err error) {
	live := s.Live(r.now)
	value := r.secret
	if value == "" && len(live) == 0 && i.Has(integration.EventDeliver) {
		if value, err = webhook.GenerateSecret(rand.Reader); err != nil {
			return s, "", err
		}
		created = value
	}
	if value == "" || len(live) > 0 && live[0] == value {
		return s, "", nil
	}
	i.SecretAt = &r.now
	return s.Rotate(value, r.now), created, nil
}

func (r configuration) commit(ctx context.Context, i integration.Integration, version int64, s integration.Secrets, secretsVersion int64) error {
	ops := []store.Op{r.company.Save(integration.Key(r.provider), integration.Entity, version, i)}
	if len(s.Signing) > 0 || len(s.Values) > 0 {
		op, err := integration.SaveSecrets(ctx, r.company, r.Vault, r.provider, secretsVersion, s)
		if err != nil {
			return err
		}
		ops = append(ops, op)
	}
	err := r.company.Commit(ctx, ops...)
	if errors.Is(err, store.ErrConflict) {
		return fault.Wrap(fault.Conflict, "the integration was changed at the same time; read it again and repeat", err)
	}
	return store.Fault(err, "")
}
