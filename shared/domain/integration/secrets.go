package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
)

// Vault seals data that must not be readable in the store. A seal is bound to a company and a label: Open returns an error
// for any other company or label.
type Vault interface {
	Seal(ctx context.Context, company, label string, plaintext []byte) ([]byte, error)
	Open(ctx context.Context, company, label string, sealed []byte) ([]byte, error)
}

// SigningSecret holds one secret that signs until it retires.
type SigningSecret struct {
	Value     string     `json:"value"`
	CreatedAt time.Time  `json:"createdAt"`
	RetiresAt *time.Time `json:"retiresAt,omitempty"`
}

// RotationGrace limits how long a rotated secret keeps signing along with the new one. A rotation may give it less.
const RotationGrace = 24 * time.Hour

// MaxSecrets limits how many signing secrets are live at the same time.
const MaxSecrets = 10

// Secrets holds all that an integration keeps in the vault: its signing secrets, newest first, and its credentials by name.
type Secrets struct {
	Signing []SigningSecret   `json:"signing,omitempty"`
	Values  map[string]string `json:"values,omitempty"`
	Origin  string            `json:"origin,omitempty"` // where Values and Grant may go; "": stored by a release that kept no origin
	Owner   string            `json:"owner,omitempty"`  // the incarnation of the integration; "": stored by a release that kept none
	Grant   []byte            `json:"grant,omitempty"`  // of a connection; sealed, see OpenGrant
}

// Of reports whether the secrets are those of an integration. A reader may hold an integration that was deleted since, and the secrets of
// another integration, which has its name now.
func (s Secrets) Of(i Integration) bool { return s.Owner == "" || s.Owner == i.Incarnation }

// ValuesFor returns the credentials that may go to an origin: all of them, or none. A reader may hold the configuration of
// before and the credentials of now; they do not go together.
func (s Secrets) ValuesFor(origin string) map[string]string {
	if s.Origin != "" && s.Origin != origin {
		return nil
	}
	return s.Values
}

// HeadersFor returns an endpoint's secret headers, which may go to one origin only. What a release without secret headers has stored for
// an endpoint stays unused.
func (s Secrets) HeadersFor(origin string) map[string]string {
	if s.Origin == "" {
		return nil
	}
	return s.ValuesFor(origin)
}

// Live returns the values of the signing secrets that have not retired, newest first.
func (s Secrets) Live(now time.Time) []string {
	var live []string
	for _, secret := range s.Signing {
		if secret.RetiresAt == nil || now.Before(*secret.RetiresAt) {
			live = append(live, secret.Value)
		}
	}
	return live
}

// Rotate returns the secrets with value in front. The earlier ones retire after grace, or sooner if they were already due to;
// without grace they are dropped. A value that is among them moves to the front and is not kept twice.
func (s Secrets) Rotate(value string, now time.Time, grace time.Duration) Secrets {
	signing := []SigningSecret{{Value: value, CreatedAt: now}}
	retires := now.Add(grace)
	for _, old := range s.Signing {
		if old.RetiresAt == nil || retires.Before(*old.RetiresAt) {
			old.RetiresAt = &retires
		}
		if old.Value != value && now.Before(*old.RetiresAt) && len(signing) < MaxSecrets {
			signing = append(signing, old)
		}
	}
	s.Signing = signing
	return s
}

// PreviousUntil returns when the last of the earlier secrets retires. Without an earlier secret it returns nil.
func (s Secrets) PreviousUntil() *time.Time {
	var last *time.Time
	for _, secret := range s.Signing {
		if secret.RetiresAt != nil && (last == nil || last.Before(*secret.RetiresAt)) {
			last = secret.RetiresAt
		}
	}
	return last
}

// CredentialEntity names the entity of the item that holds an integration's sealed secrets.
const CredentialEntity = "credential"

// CredentialKey returns the sort key of an integration's sealed secrets.
func CredentialKey(provider string) string { return "CREDENTIAL#" + provider }

// sealedItem holds an integration's secrets. Each field is sealed on its own, under a label that names the provider and the
// field, so a text that is moved to another field, provider or company does not open.
type sealedItem struct {
	Signing []byte            `json:"signing,omitempty"` // the signing secrets
	Values  map[string][]byte `json:"values,omitempty"`  // the credentials by name
	Origin  string            `json:"origin,omitempty"`  // where the credentials may go; the labels of Values and Grant hold it too
	Owner   string            `json:"owner,omitempty"`   // the incarnation of the integration
	Grant   []byte            `json:"grant,omitempty"`   // the tokens of a connection
	Sealed  []byte            `json:"sealed,omitempty"`  // form of release 0.1.0: all of it in one text; the next write replaces it
}

// The labels under which the fields are sealed. No provider's name has a slash.
func signingLabel(provider string) string { return provider + "/signing" }
func formerLabel(provider string) string  { return provider + "/secrets" }
func credentialLabel(provider, name, origin string) string {
	return vault.LabelFor(provider+"/credentials/"+name, origin)
}

// LoadSecrets reads and opens an integration's secrets. For an integration without secrets it returns version 0 and no error.
func LoadSecrets(ctx context.Context, c store.Company, v Vault, provider string) (Secrets, int64, error) {
	var r *Reader
	return r.LoadSecrets(ctx, c, v, provider)
}

// BoundsEntity names the entity of the item that shares an endpoint's bounds between the processes that send to it.
const BoundsEntity = "bounds"

// BoundsKey returns the sort key of the shared bounds of one incarnation of an endpoint. It follows the key of the secrets, so that
// one query reads both. The bounds of an endpoint that was deleted lie between the two until they expire.
func BoundsKey(provider, incarnation string) string {
	return strings.TrimSuffix(CredentialKey(provider)+"#bounds@"+incarnation, "@")
}

func openSecrets(ctx context.Context, c store.Company, v Vault, provider string, item store.Item) (Secrets, error) {
	var sealed sealedItem
	if err := item.Decode(&sealed); err != nil {
		return Secrets{}, err
	}
	s := Secrets{Origin: sealed.Origin, Owner: sealed.Owner, Grant: sealed.Grant}
	if len(sealed.Sealed) > 0 {
		err := openField(ctx, c, v, provider, formerLabel(provider), sealed.Sealed, &s)
		return s, err
	}
	if len(sealed.Signing) > 0 {
		if err := openField(ctx, c, v, provider, signingLabel(provider), sealed.Signing, &s.Signing); err != nil {
			return Secrets{}, err
		}
	}
	for name, text := range sealed.Values {
		plain, err := v.Open(ctx, c.ID(), credentialLabel(provider, name, sealed.Origin), text)
		if err != nil {
			return Secrets{}, fmt.Errorf("open credential %s of %s: %w", name, provider, err)
		}
		if s.Values == nil {
			s.Values = make(map[string]string, len(sealed.Values))
		}
		s.Values[name] = string(plain)
	}
	return s, nil
}

func openField(ctx context.Context, c store.Company, v Vault, provider, label string, sealed []byte, into any) error {
	plain, err := v.Open(ctx, c.ID(), label, sealed)
	if err != nil {
		return fmt.Errorf("open secrets of %s: %w", provider, err)
	}
	if err := json.Unmarshal(plain, into); err != nil {
		return fmt.Errorf("decode secrets of %s: invalid JSON", provider) // the cause might quote the secrets
	}
	return nil
}

// SaveSecrets returns the write that replaces the secrets of an integration at version (0: none yet). The write stays out of the change
// feed, because consumers see the change of the integration in the same commit.
func SaveSecrets(ctx context.Context, c store.Company, v Vault, i Integration, version int64, s Secrets) (store.Op, error) {
	s.Owner = i.Incarnation
	return saveSecrets(ctx, c, v, i.Provider, version, s)
}

func saveSecrets(ctx context.Context, c store.Company, v Vault, provider string, version int64, s Secrets) (store.Op, error) {
	sealed := sealedItem{Owner: s.Owner, Grant: s.Grant}
	if len(s.Signing) > 0 {
		plain, err := json.Marshal(s.Signing)
		if err != nil {
			return store.Op{}, err
		}
		if sealed.Signing, err = v.Seal(ctx, c.ID(), signingLabel(provider), plain); err != nil {
			return store.Op{}, fmt.Errorf("seal secrets of %s: %w", provider, err)
		}
	}
	if len(s.Values)+len(s.Grant) > 0 {
		sealed.Origin = s.Origin
	}
	for name, value := range s.Values {
		text, err := v.Seal(ctx, c.ID(), credentialLabel(provider, name, s.Origin), []byte(value))
		if err != nil {
			return store.Op{}, fmt.Errorf("seal credential %s of %s: %w", name, provider, err)
		}
		if sealed.Values == nil {
			sealed.Values = make(map[string][]byte, len(s.Values))
		}
		sealed.Values[name] = text
	}
	return c.Save(CredentialKey(provider), CredentialEntity, version, sealed).Quietly(), nil
}

// Reseal seals a company's secrets field by field that release 0.1.0 sealed as one text, and returns of how many integrations.
// It leaves secrets to a request that writes them at the same time, because that request seals them by field too.
func Reseal(ctx context.Context, c store.Company, v Vault) (resealed int, err error) {
	for item, err := range c.Items(ctx, store.Query{Prefix: CredentialKey("")}) {
		if err != nil {
			return resealed, store.Fault(err, "")
		}
		var sealed sealedItem
		if item.Entity != CredentialEntity || item.Decode(&sealed) != nil || len(sealed.Sealed) == 0 {
			continue
		}
		provider := strings.TrimPrefix(item.Key, CredentialKey(""))
		s, err := openSecrets(ctx, c, v, provider, item)
		if err != nil {
			return resealed, err
		}
		op, err := saveSecrets(ctx, c, v, provider, item.Version, s)
		if err != nil {
			return resealed, err
		}
		switch err := c.Commit(ctx, op); {
		case err == nil:
			resealed++
		case !errors.Is(err, store.ErrConflict):
			return resealed, store.Fault(err, "")
		}
	}
	return resealed, nil
}
