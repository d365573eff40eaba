package integrations

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"orgops/shared/connector"
	"orgops/shared/fault"
	"orgops/shared/integration"
	"orgops/shared/store"
	"orgops/shared/web"
	"orgops/shared/webhook"
)

// Credentials is the body of a credential write: values by name.
type Credentials struct {
	Credentials map[string]string `json:"credentials" minProperties:"1" maxProperties:"20" doc:"values by name, at most 8 kB each; never shown again" example:"{\"token\": \"…\"}"`
}

type credentialsInput struct {
	ProviderInput
	Body Credentials
}

const credentialName = `^[A-Za-z][A-Za-z0-9_-]{0,63}$`

const (
	maxCredential  = 8 << 10
	maxCredentials = 200 << 10 // all of them as JSON: sealed, they are one item of the store with the signing secrets
)

func (b Credentials) check() error {
	var problems []fault.Problem
	names := regexp.MustCompile(credentialName) // here and not at the start of every process: few requests come by
	for _, name := range slices.Sorted(maps.Keys(b.Credentials)) {
		at := connector.Pointer("credentials", name)
		if !names.MatchString(name) {
			problems = append(problems, fault.Problem{Pointer: at, Detail: "a name starts with a letter and has at most 64 letters, digits, _ or -"})
		}
		if n := len(b.Credentials[name]); n == 0 || n > maxCredential {
			problems = append(problems, fault.Problem{Pointer: at, Detail: "a value has 1 to 8192 bytes"})
		}
	}
	if all, err := json.Marshal(b.Credentials); err != nil || len(all) > maxCredentials {
		problems = append(problems, fault.Problem{
			Pointer: "/credentials", Detail: fmt.Sprintf("all of them together have at most %d bytes as JSON, where some characters are escaped", maxCredentials),
		})
	}
	return fault.Refuse(problems)
}

func (d Deps) putCredentials(ctx context.Context, in *credentialsInput) (*struct{}, error) {
	if err := in.Body.check(); err != nil {
		return nil, err
	}
	return nil, d.changeSecrets(ctx, in.Provider, func(i *integration.Integration, s *integration.Secrets) error {
		s.Values = in.Body.Credentials
		i.Credentials = &integration.CredentialNames{Names: slices.Sorted(maps.Keys(s.Values)), UpdatedAt: d.Now().UTC()}
		return nil
	})
}

func (d Deps) deleteCredentials(ctx context.Context, in *ProviderInput) (*struct{}, error) {
	return nil, d.changeSecrets(ctx, in.Provider, func(i *integration.Integration, s *integration.Secrets) error {
		s.Values, i.Credentials = nil, nil
		return nil
	})
}

// RotateRequest is the optional body of a rotation.
type RotateRequest struct {
	SigningSecret string `json:"signingSecret,omitempty" nullable:"true" minLength:"1" maxLength:"256" doc:"the new secret, where the provider chose it; left out, one is made for a webhook" writeOnly:"true"`
}

type rotateInput struct {
	ProviderInput
	Body *RotateRequest `required:"false"`
}

// Rotation is the answer to a rotation.
type Rotation struct {
	SigningSecret string     `json:"signingSecret,omitempty" doc:"the new secret where it was made here: shown this once"`
	PreviousUntil *time.Time `json:"previousUntil,omitempty" doc:"until then those before sign and are accepted beside it; absent where there was none"`
	LiveSecrets   int        `json:"liveSecrets" doc:"how many secrets sign now"`
	SecretAt      time.Time  `json:"secretAt" doc:"when the new one was stored"`
}

type rotateOutput struct{ Body Rotation }

func (d Deps) rotateSecret(ctx context.Context, in *rotateInput) (*rotateOutput, error) {
	given := ""
	if in.Body != nil {
		given = in.Body.SigningSecret
	}
	out := &rotateOutput{}
	err := d.changeSecrets(ctx, in.Provider, func(i *integration.Integration, s *integration.Secrets) error {
		value, err := d.newSecret(*i, given)
		if err != nil {
			return err
		}
		now := d.Now().UTC()
		if given == "" {
			out.Body.SigningSecret = value
		}
		*s = s.Rotate(value, now)
		i.SecretAt = &now
		out.Body.LiveSecrets, out.Body.SecretAt = len(s.Live(now)), now
		if out.Body.LiveSecrets > 1 {
			until := now.Add(integration.RotationGrace)
			out.Body.PreviousUntil = &until
		}
		return nil
	})
	return out, err
}

// newSecret is the secret that was given, if the connector's schema takes it, or a new one in Standard Webhooks' form.
func (d Deps) newSecret(i integration.Integration, given string) (string, error) {
	if !i.Has(integration.EventDeliver) && !i.Has(integration.InboundReceive) {
		return "", fault.Newf(fault.Conflict, "%s has no signing secret: nothing is sent to it or received from it", i.Provider)
	}
	if given == "" {
		return webhook.GenerateSecret(rand.Reader)
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
	c, err := d.Connectors.Find(i.Provider)
	if err != nil {
		return "", err
	}
	return given, check(c, raw)
}

// changeSecrets writes an integration and its secrets together: the feed tells of the one, the vault keeps the other.
func (d Deps) changeSecrets(ctx context.Context, provider string, edit func(*integration.Integration, *integration.Secrets) error) error {
	stored, err := d.load(ctx, provider)
	if err != nil {
		return err
	}
	c := web.Tenant(ctx)
	secrets, version, err := integration.LoadSecrets(ctx, c, d.Vault, provider)
	if err != nil {
		return err
	}
	i := stored.Integration
	if err := edit(&i, &secrets); err != nil {
		return err
	}
	i.UpdatedAt = d.Now().UTC()
	op, err := integration.SaveSecrets(ctx, c, d.Vault, provider, version, secrets)
	if err != nil {
		return fmt.Errorf("secrets of %s: %w", provider, err)
	}
	return store.Fault(c.Commit(ctx, c.Replace(integration.Key(provider), integration.Entity, stored.Version, i), op), "")
}
