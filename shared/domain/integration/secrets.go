package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"orgops/shared/storage/store"
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

type sealedItem struct {
	Sealed []byte `json:"sealed"`
}

func label(provider string) string { return provider + "/secrets" }

// LoadSecrets reads and opens an integration's secrets. For an integration without secrets it returns version 0 and no error.
func LoadSecrets(ctx context.Context, c store.Company, v Vault, provider string) (Secrets, int64, error) {
	item, err := c.Get(ctx, CredentialKey(provider), nil)
	if errors.Is(err, store.ErrNotFound) {
		return Secrets{}, 0, nil
	}
	if err != nil {
		return Secrets{}, 0, store.Fault(err, "")
	}
	s, err := openSecrets(ctx, c, v, provider, item)
	if err != nil {
		return Secrets{}, 0, err
	}
	return s, item.Version, nil
}

// BoundsEntity names the entity of the item that shares an endpoint's bounds between the processes that send to it.
const BoundsEntity = "bounds"

// BoundsKey returns the sort key of an endpoint's shared bounds. It directly follows the key of the secrets, so that one
// query reads both.
func BoundsKey(provider string) string { return CredentialKey(provider) + "#bounds" }

// LoadSecretsAndBounds reads an integration's secrets, as LoadSecrets does, and its shared bounds with one query. The
// bounds are a zero Item if they are absent, and nil if they could not be read. They are valid even if the secrets do not open.
func LoadSecretsAndBounds(ctx context.Context, c store.Company, v Vault, provider string) (s Secrets, bounds *store.Item, err error) {
	bounds = new(store.Item)
	var unopened error
	for q := (store.Query{Prefix: CredentialKey(provider), To: BoundsKey(provider)}); ; {
		page, err := c.Query(ctx, q)
		if err != nil {
			return Secrets{}, nil, store.Fault(err, "")
		}
		for _, item := range page.Items {
			switch item.Key {
			case BoundsKey(provider):
				*bounds = item
			case CredentialKey(provider):
				s, unopened = openSecrets(ctx, c, v, provider, item)
			}
		}
		if q.After = page.Next; q.After == "" {
			return s, bounds, unopened
		}
	}
}

func openSecrets(ctx context.Context, c store.Company, v Vault, provider string, item store.Item) (Secrets, error) {
	var sealed sealedItem
	if err := item.Decode(&sealed); err != nil {
		return Secrets{}, err
	}
	plain, err := v.Open(ctx, c.ID(), label(provider), sealed.Sealed)
	if err != nil {
		return Secrets{}, fmt.Errorf("open secrets of %s: %w", provider, err)
	}
	var s Secrets
	if err := json.Unmarshal(plain, &s); err != nil {
		return Secrets{}, fmt.Errorf("decode secrets of %s: invalid JSON", provider) // the cause might quote the secrets
	}
	return s, nil
}

// SaveSecrets returns the write that replaces the secrets at version (0: none yet). The write stays out of the change feed,
// because consumers see the change of the integration in the same commit.
func SaveSecrets(ctx context.Context, c store.Company, v Vault, provider string, version int64, s Secrets) (store.Op, error) {
	plain, err := json.Marshal(s)
	if err != nil {
		return store.Op{}, err
	}
	sealed, err := v.Seal(ctx, c.ID(), label(provider), plain)
	if err != nil {
		return store.Op{}, fmt.Errorf("seal secrets of %s: %w", provider, err)
	}
	return c.Save(CredentialKey(provider), CredentialEntity, version, sealedItem{sealed}).Quietly(), nil
}
