package integrations

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
	"orgops/shared/web"
	"orgops/shared/webhook/standardwebhooks"
)

// CredentialsRequest holds the body of a credential write: values by name.
type CredentialsRequest struct {
	Credentials map[string]string `json:"credentials" minProperties:"1" maxProperties:"20" doc:"values by name, at most 8 kB each; never shown again" example:"{\"token\": \"…\"}"`
	ExpiresAt   *time.Time        `json:"expiresAt,omitempty" doc:"when the credentials expire, for a provider that does not say so; what the provider says replaces it" example:"2030-01-01T00:00:00Z"`
}

type credentialsInput struct {
	ChangeInput
	Body CredentialsRequest
}

const credentialName = `^[A-Za-z][A-Za-z0-9_-]{0,63}$`

const (
	maxCredential  = 8 << 10
	maxCredentials = 200 << 10 // together as JSON; sealed with the signing secrets, they are one item in the store
)

func (b CredentialsRequest) check(now time.Time) error {
	var problems []fault.FieldError
	if b.ExpiresAt != nil && !b.ExpiresAt.After(now) {
		problems = append(problems, fault.FieldError{Pointer: "/expiresAt", Detail: "must be in the future"})
	}
	names := regexp.MustCompile(credentialName) // compiled here rather than at every start, because few requests need it
	for _, name := range slices.Sorted(maps.Keys(b.Credentials)) {
		at := fault.Pointer("credentials", name)
		if !names.MatchString(name) {
			problems = append(problems, fault.FieldError{Pointer: at, Detail: "a name starts with a letter and has at most 64 letters, digits, _ or -"})
		}
		if n := len(b.Credentials[name]); n == 0 || n > maxCredential {
			problems = append(problems, fault.FieldError{Pointer: at, Detail: "a value has 1 to 8192 bytes"})
		}
	}
	if all, err := json.Marshal(b.Credentials); err != nil || len(all) > maxCredentials {
		problems = append(problems, fault.FieldError{
			Pointer: "/credentials", Detail: fmt.Sprintf("all credentials together have at most %d bytes as JSON, in which some characters are escaped", maxCredentials),
		})
	}
	return fault.Refuse(problems)
}

// checkNames returns an error for credentials that the connector refuses, because they do not meet its schema and rules. No problem quotes a
// value.
func checkNames(c connector.Connector, provider string, credentials map[string]string) error {
	a, ok := c.(connector.Credentialed)
	if !ok {
		return errUnused(provider)
	}
	raw, err := json.Marshal(credentials)
	if err != nil {
		return err
	}
	problems, err := web.CheckBody(a.CredentialSchema(), raw)
	if checker, ok := c.(connector.CredentialChecker); ok && len(problems) == 0 {
		problems = checker.CheckCredentials(credentials)
	}
	return cmp.Or(err, fault.Refuse(fault.Below("/credentials", problems)))
}

// checkNeeded does what checkNames does, and returns an error too for credentials that are not those that the configuration needs.
func checkNeeded(c connector.Authenticated, i integration.Integration, credentials map[string]string) error {
	needed, names := c.NeededCredentials(i.Config), slices.Sorted(maps.Keys(credentials))
	if len(needed) == 0 {
		return errUnused(i.Provider)
	}
	if err := checkNames(c, i.Provider, credentials); err != nil {
		return err
	}
	var problems []fault.FieldError
	for _, name := range connector.Missing(c, i.Config, names) {
		problems = append(problems, fault.FieldError{Pointer: fault.Pointer(name), Detail: "is missing, and the configuration needs it"})
	}
	for _, name := range names {
		if !slices.Contains(needed, name) {
			problems = append(problems, fault.FieldError{Pointer: fault.Pointer(name), Detail: "is not used as the integration is configured; leave it out"})
		}
	}
	return fault.Refuse(fault.Below("/credentials", problems))
}

func errUnused(provider string) error {
	return fault.Newf(fault.Conflict, "%s uses no credentials as it is configured, so none are stored; leave this step out", provider)
}

func (d Deps) putCredentials(ctx context.Context, in *credentialsInput) (*struct{}, error) {
	now := d.Now().UTC()
	if err := in.Body.check(now); err != nil {
		return nil, err
	}
	known, err := d.Connectors.Find(ctx, web.Tenant(ctx), in.Provider)
	if err != nil {
		return nil, err
	}
	source, needs := known.(connector.Authenticated)
	if !needs {
		if err := checkNames(known, in.Provider, in.Body.Credentials); err != nil {
			return nil, err
		}
	}
	return nil, d.changeSecrets(ctx, in.ChangeInput, func(i *integration.Integration, s *integration.Secrets) error {
		conn, err := d.Connectors.Of(ctx, web.Tenant(ctx), *i)
		if err == nil && needs {
			err = checkNeeded(source, *i, in.Body.Credentials)
		}
		if err != nil {
			return err
		}
		storeCredentials(conn, i, s, in.Body.Credentials, now)
		if in.Body.ExpiresAt != nil {
			until := in.Body.ExpiresAt.UTC()
			i.Credentials.ExpiresAt = &until
		}
		return nil
	})
}

func (d Deps) deleteCredentials(ctx context.Context, in *ChangeInput) (*struct{}, error) {
	return nil, d.changeSecrets(ctx, *in, func(i *integration.Integration, s *integration.Secrets) error {
		s.Values, s.Grant, i.Credentials, i.Connection = nil, nil, nil, nil
		return nil
	})
}

// RotateRequest holds the optional body of a rotation.
type RotateRequest struct {
	SigningSecret string `json:"signingSecret,omitempty" minLength:"1" maxLength:"256" doc:"the new secret, if the provider chose it; required for an integration that sends no webhooks; without it, one is generated" writeOnly:"true"`
	GraceSeconds  *int   `json:"graceSeconds,omitempty" minimum:"0" maximum:"86400" doc:"how long the previous secrets keep signing and being accepted; 0 ends them at once, as after a leak; absent: 86400, a day" example:"0" format:"int32"`
}

// of returns what the body asks for: a secret, or "" to generate one, and the grace of the earlier secrets.
func (b *RotateRequest) of() (secret string, grace time.Duration) {
	switch {
	case b == nil:
		return "", integration.RotationGrace
	case b.GraceSeconds == nil:
		return b.SigningSecret, integration.RotationGrace
	}
	return b.SigningSecret, time.Duration(*b.GraceSeconds) * time.Second
}

type rotateInput struct {
	ChangeInput
	Body *RotateRequest `required:"false"`
}

// Rotation answers a rotation.
type Rotation struct {
	SigningSecret string     `json:"signingSecret,omitempty" doc:"the new secret if it was generated; shown only once"`
	PreviousUntil *time.Time `json:"previousUntil,omitempty" doc:"when the last of the previous secrets stops signing and being accepted; absent if there is none"`
	LiveSecrets   int        `json:"liveSecrets" doc:"how many secrets sign now" format:"int32"`
	SecretAt      time.Time  `json:"secretAt" doc:"when the new secret was stored"`
}

type rotateOutput struct{ Body Rotation }

func (d Deps) rotateSecret(ctx context.Context, in *rotateInput) (*rotateOutput, error) {
	given, grace := in.Body.of()
	out := &rotateOutput{}
	err := d.changeSecrets(ctx, in.ChangeInput, func(i *integration.Integration, s *integration.Secrets) error {
		value, err := d.newSecret(ctx, *i, given)
		if err != nil {
			return err
		}
		now := d.Now().UTC()
		if given == "" {
			out.Body.SigningSecret = value
		}
		*s = s.Rotate(value, now, grace)
		i.SecretAt = &now
		out.Body.LiveSecrets, out.Body.PreviousUntil, out.Body.SecretAt = len(s.Live(now)), s.PreviousUntil(), now
		return nil
	})
	return out, err
}

// newSecret returns the given secret, or an error if the connector's schema refuses it. If no secret is given, it generates
// one in the form of Standard Webhooks, or returns an error for an integration that only receives: its provider signs.
func (d Deps) newSecret(ctx context.Context, i integration.Integration, given string) (string, error) {
	if !i.Has(integration.EventDeliver) && !i.Has(integration.InboundReceive) {
		return "", fault.Newf(fault.Conflict, "%s has no signing secret, because no webhooks are sent to it or received from it", i.Provider)
	}
	switch {
	case given != "":
	case i.Has(integration.EventDeliver):
		return standardwebhooks.GenerateSecret(rand.Reader)
	default: // the provider would go on signing with its own
		return "", fault.RefuseAt("/signingSecret", "is required, because "+i.Provider+" only receives webhooks; give the secret that was set at the provider")
	}
	request := map[string]json.RawMessage{}
	if err := json.Unmarshal(i.Config, &request); err != nil {
		return "", err
	}
	var err error
	if request[secretField], err = json.Marshal(given); err != nil {
		return "", err
	}
	raw, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	c, err := d.Connectors.Of(ctx, web.Tenant(ctx), i)
	if err != nil {
		return "", err
	}
	return given, check(c, raw)
}

// changeSecrets writes an integration and its secrets in one transaction. The change feed carries the integration; the vault
// seals the secrets.
func (d Deps) changeSecrets(ctx context.Context, in ChangeInput, edit func(*integration.Integration, *integration.Secrets) error) error {
	stored, err := d.load(ctx, in.Provider)
	if err != nil {
		return err
	}
	if err := in.Check(revision(stored)); err != nil {
		return err
	}
	c := web.Tenant(ctx)
	secrets, version, err := integration.LoadSecrets(ctx, c, d.Vault, in.Provider)
	if err != nil {
		return err
	}
	i, was := stored.Integration, secrets
	if err := edit(&i, &secrets); err != nil {
		return err
	}
	i.UpdatedAt = d.Now().UTC()
	op, err := integration.SaveSecrets(ctx, c, d.Vault, i, version, secrets)
	if err != nil {
		return fmt.Errorf("secrets of %s: %w", in.Provider, err)
	}
	ops := append(d.disconnected(ctx, stored.Integration, was, secrets), op)
	if i.Credentials != nil && i.Credentials != stored.Credentials { // new ones may end the failures that paused the schedule
		ops = append(ops, resume(c, &i)...)
		ops = append(ops, i.CredentialsEnding(c, stored.Version+1)...)
	}
	ops = append(ops, c.Replace(integration.Key(in.Provider), integration.Entity, stored.Version, i))
	return in.Overtaken(store.Fault(c.Commit(ctx, ops...), ""))
}
