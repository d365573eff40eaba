package integration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orgops/shared/storage/store"
)

// secretsKept limits how long a Reader holds opened secrets in memory.
const secretsKept = time.Minute

// Reader reads integrations and their secrets. Each call reads the store, but decodes only what has changed since an earlier
// call: most calls to a busy integration find the same bytes. Callers must not change what the results point to. The zero
// Reader is ready; a nil one decodes everything. The methods are safe for concurrent use.
type Reader struct {
	integrations kept[Integration]
	secrets      kept[Secrets]
}

// Load does what the function Load does.
func (r *Reader) Load(ctx context.Context, c store.Company, provider string) (Integration, int64, error) {
	item, err := c.Get(ctx, Key(provider), nil)
	if err != nil {
		return Integration{}, 0, store.Fault(err, fmt.Sprintf("integration %q is not configured", provider))
	}
	return r.decode(c, item), item.Version, nil
}

// List does what the function List does.
func (r *Reader) List(ctx context.Context, c store.Company) ([]Stored, error) {
	var all []Stored
	for item, err := range c.Items(ctx, store.Query{Prefix: Prefix}) {
		if err != nil {
			return nil, store.Fault(err, "")
		}
		all = append(all, Stored{Integration: r.decode(c, item), Version: item.Version})
	}
	return all, nil
}

// LoadSecrets does what the function LoadSecrets does.
func (r *Reader) LoadSecrets(ctx context.Context, c store.Company, v Vault, provider string) (Secrets, int64, error) {
	item, err := c.Get(ctx, CredentialKey(provider), nil)
	if errors.Is(err, store.ErrNotFound) {
		return Secrets{}, 0, nil
	}
	if err != nil {
		return Secrets{}, 0, store.Fault(err, "")
	}
	s, err := r.open(ctx, c, v, provider, item)
	if err != nil {
		return Secrets{}, 0, err
	}
	return s, item.Version, nil
}

// LoadSecretsAndBounds reads an integration's secrets, as LoadSecrets does, and its shared bounds with one query. The
// bounds are a zero Item if they are absent, and nil if they could not be read. They are valid even if the secrets do not open.
func (r *Reader) LoadSecretsAndBounds(ctx context.Context, c store.Company, v Vault, provider, incarnation string) (s Secrets, bounds *store.Item, err error) {
	bounds = new(store.Item)
	var unopened error
	for item, err := range c.Items(ctx, store.Query{Prefix: CredentialKey(provider), To: BoundsKey(provider, incarnation)}) {
		if err != nil {
			return Secrets{}, nil, store.Fault(err, "")
		}
		switch item.Key {
		case BoundsKey(provider, incarnation):
			*bounds = item
		case CredentialKey(provider):
			s, unopened = r.open(ctx, c, v, provider, item)
		}
	}
	return s, bounds, unopened
}

func (r *Reader) decode(c store.Company, item store.Item) Integration {
	if r == nil {
		return decode(item)
	}
	if i, ok := r.integrations.get(c, item); ok {
		return i
	}
	i := decode(item)
	r.integrations.put(c, item, i, 0)
	return i
}

func (r *Reader) open(ctx context.Context, c store.Company, v Vault, provider string, item store.Item) (Secrets, error) {
	if r == nil {
		return openSecrets(ctx, c, v, provider, item)
	}
	if s, ok := r.secrets.get(c, item); ok {
		return s, nil
	}
	s, err := openSecrets(ctx, c, v, provider, item)
	if err != nil {
		return Secrets{}, err
	}
	r.secrets.put(c, item, s, secretsKept)
	return s, nil
}
