package vault

import (
	"bytes"
	"context"
	"errors"

	"orgops/shared/store"
)

// Entity and Key are those of a company's wrapped data key.
const (
	Entity = "key"
	Key    = "KEY"
)

// StoreKeys is a KeyStore in an item store. In the cloud that is a table of its own, with a short recovery window: a
// destroyed key must not come back.
type StoreKeys struct{ Store store.Store }

type wrappedKey struct {
	Wrapped []byte `json:"wrapped"`
}

// Get reads the company's KEY item.
func (k StoreKeys) Get(ctx context.Context, company string) ([]byte, error) {
	var body wrappedKey
	_, err := store.For(k.Store, company).Get(ctx, Key, &body)
	if errors.Is(err, store.ErrNotFound) {
		return nil, ErrNoKey
	}
	return body.Wrapped, err
}

// Create writes it, out of the change feed.
func (k StoreKeys) Create(ctx context.Context, company string, wrapped []byte) error {
	c := store.For(k.Store, company)
	err := c.Commit(ctx, c.Create(Key, Entity, wrappedKey{Wrapped: wrapped}).Silent())
	if errors.Is(err, store.ErrConflict) {
		return ErrKeyExists
	}
	return err
}

// Replace writes the item at the version that was read.
func (k StoreKeys) Replace(ctx context.Context, company string, was, wrapped []byte) error {
	c := store.For(k.Store, company)
	var body wrappedKey
	item, err := c.Get(ctx, Key, &body)
	if errors.Is(err, store.ErrNotFound) {
		return ErrNoKey
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(body.Wrapped, was) {
		return ErrKeyExists
	}
	err = c.Commit(ctx, c.Replace(Key, Entity, item.Version, wrappedKey{Wrapped: wrapped}).Silent())
	if errors.Is(err, store.ErrConflict) {
		return ErrKeyExists
	}
	return err
}
