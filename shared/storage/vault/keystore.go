package vault

import (
	"bytes"
	"context"
	"errors"

	"orgops/shared/storage/store"
)

// Entity and Key name the item that holds a company's wrapped data key.
const (
	Entity = "key"
	Key    = "KEY"
)

// StoreKeys implements KeyStore in an item store. In the cloud, Store is a separate table with a short recovery window: a
// restore must not bring a destroyed key back.
type StoreKeys struct{ Store store.Store }

type wrappedKey struct {
	Wrapped []byte `json:"wrapped"`
}

// Get returns the wrapped key in the company's KEY item, or ErrNoKey.
func (k StoreKeys) Get(ctx context.Context, company string) ([]byte, error) {
	var body wrappedKey
	_, err := store.For(k.Store, company).Get(ctx, Key, &body)
	if errors.Is(err, store.ErrNotFound) {
		return nil, ErrNoKey
	}
	return body.Wrapped, err
}

// Create writes the KEY item, outside the change feed.
func (k StoreKeys) Create(ctx context.Context, company string, wrapped []byte) error {
	c := store.For(k.Store, company)
	err := c.Commit(ctx, c.Create(Key, Entity, wrappedKey{Wrapped: wrapped}).Quietly())
	if errors.Is(err, store.ErrConflict) {
		return ErrKeyExists
	}
	return err
}

// Destroy removes the KEY item, if there is one. What the key has sealed cannot be opened any more. A process that has unwrapped
// the key forgets it within five minutes.
func (k StoreKeys) Destroy(ctx context.Context, company string) error {
	c := store.For(k.Store, company)
	item, err := c.Get(ctx, Key, nil)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.Commit(ctx, c.Delete(Key, Entity, item.Version).Quietly())
}

// Replace puts wrapped in place of was in the KEY item. It returns ErrKeyExists if the item holds another key than was.
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
	err = c.Commit(ctx, c.Replace(Key, Entity, item.Version, wrappedKey{Wrapped: wrapped}).Quietly())
	if errors.Is(err, store.ErrConflict) {
		return ErrKeyExists
	}
	return err
}
