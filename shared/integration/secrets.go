package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"orgops/shared/store"
)

// Vault seals what must not be readable in the store. Label is bound into the seal with the company: what was sealed
// under one company or label opens under no other.
type Vault interface {
	Seal(ctx context.Context, company, label string, plaintext []byte) ([]byte, error)
	Open(ctx context.Context, company, label string, sealed []byte) ([]byte, error)
}

// SigningSecret is one secret that signs, until it retires.
type SigningSecret struct {
	Value     string     `json:"value"`
	CreatedAt time.Time  `json:"createdAt"`
	RetiresAt *time.Time `json:"retiresAt,omitempty"`
}

// RotationGrace is how long a rotated secret keeps signing beside the new one.
const RotationGrace = 24 * time.Hour

// MaxSecrets is how many signing secrets live side by side at most.
const MaxSecrets = 10

// Secrets is all that an integration keeps in the vault: newest signing secret first, and its credentials by name.
type Secrets struct {
	Signing []SigningSecret   `json:"signing,omitempty"`
	Values  map[string]string `json:"values,omitempty"`
}

// Live is the values of the signing secrets that have not retired, newest first.
func (s Secrets) Live(now time.Time) []string {
	var live []string
	for _, secret := range s.Signing {
		if secret.RetiresAt == nil || now.Before(*secret.RetiresAt) {
			live = append(live, secret.Value)
		}
	}
	return live
}

// Rotate is the secrets with a new one in front; those before retire after RotationGrace, or earlier if they already had
// to. One that was among them moves to the front: it is not kept twice.
func (s Secrets) Rotate(value string, now time.Time) Secrets {
	signing := []SigningSecret{{Value: value, CreatedAt: now}}
	retires := now.Add(RotationGrace)
	for _, old := range s.Signing {
		if old.Value == value || old.RetiresAt != nil && !now.Before(*old.RetiresAt) || len(signing) == MaxSecrets {
			continue
		}
		if old.RetiresAt == nil || retires.Before(*old.RetiresAt) {
			old.RetiresAt = &retires
		}
		signing = append(signing, old)
	}
	s.Signing = signing
	return s
}

// CredentialEntity is the entity of the item that holds an integration's sealed secrets.
const CredentialEntity = "credential"

// CredentialKey is the sort key of an integration's sealed secrets.
func CredentialKey(provider string) string { return "CREDENTIAL#" + provider }

type sealedItem struct {
	Sealed []byte `json:"sealed"`
}

func label(provider string) string { return provider + "/secrets" }

// LoadSecrets opens an integration's secrets. An integration that has none has version 0 and no error.
func LoadSecrets(ctx context.Context, c store.Company, v Vault, provider string) (Secrets, int64, error) {
	var sealed sealedItem
	item, err := c.Get(ctx, CredentialKey(provider), &sealed)
	if errors.Is(err, store.ErrNotFound) {
		return Secrets{}, 0, nil
	}
	if err != nil {
		return Secrets{}, 0, store.Fault(err, "")
	}
	plain, err := v.Open(ctx, c.ID(), label(provider), sealed.Sealed)
	if err != nil {
		return Secrets{}, 0, fmt.Errorf("open secrets of %s: %w", provider, err)
	}
	var s Secrets
	if err := json.Unmarshal(plain, &s); err != nil {
		return Secrets{}, 0, fmt.Errorf("secrets of %s are not what was sealed", provider) // the cause might quote them
	}
	return s, item.Version, nil
}

// SaveSecrets is the write that stores secrets over version (0: none yet). It stays out of the feed: whoever needs to
// know sees the integration change in the same commit.
func SaveSecrets(ctx context.Context, c store.Company, v Vault, provider string, version int64, s Secrets) (store.Op, error) {
	plain, err := json.Marshal(s)
	if err != nil {
		return store.Op{}, err
	}
	sealed, err := v.Seal(ctx, c.ID(), label(provider), plain)
	if err != nil {
		return store.Op{}, fmt.Errorf("seal secrets of %s: %w", provider, err)
	}
	return c.Save(CredentialKey(provider), CredentialEntity, version, sealedItem{sealed}).Silent(), nil
}
