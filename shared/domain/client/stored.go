package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// Entity and Prefix name the entity of a client's item and the prefix of its key. Next to a client lie its secrets and when it was last
// used, so that one query reads all of it.
const (
	Entity = "client"
	Prefix = "CLIENT#"

	secretEntity = "client-secret"
	useEntity    = "client-use"
	secretSuffix = "#SECRET"
	useSuffix    = "#USE"
)

// Stored carries a client with its secrets, its last use, and the versions of the three items.
type Stored struct {
	Client
	Version int64

	Secrets   []Secret
	LastUsed  time.Time // zero: never
	secretsAt int64
	usedAt    int64
}

// secrets and use hold the items next to a client's.
type secrets struct {
	Secrets []Secret `json:"secrets"`
}

type use struct {
	At time.Time `json:"at"`
}

// Key returns the sort key of a client.
func keyOf(clientID string) string { return Prefix + clientID }

const missing = "there is no client with this id"

// Load reads one client. It returns fault.NotFound for an id that no client has.
func Load(ctx context.Context, c store.Company, clientID string) (Stored, error) {
	if !id.Valid(clientID) {
		return Stored{}, fault.New(fault.NotFound, missing)
	}
	all, err := list(ctx, c, store.Query{Prefix: keyOf(clientID)})
	if err != nil {
		return Stored{}, err
	}
	if n := slices.IndexFunc(all, func(s Stored) bool { return s.ID == clientID }); n >= 0 {
		return all[n], nil
	}
	return Stored{}, fault.New(fault.NotFound, missing)
}

// List reads all clients of a company, the oldest first.
func List(ctx context.Context, c store.Company) ([]Stored, error) {
	return list(ctx, c, store.Query{Prefix: Prefix})
}

func list(ctx context.Context, c store.Company, q store.Query) ([]Stored, error) {
	var all []Stored
	for item, err := range c.Items(ctx, q) {
		if err != nil {
			return nil, store.Fault(err, "")
		}
		if item.Entity == Entity {
			all = append(all, Stored{})
		}
		if len(all) == 0 { // of a client that was deleted meanwhile
			continue
		}
		if err := all[len(all)-1].add(item); err != nil {
			return nil, fmt.Errorf("%s: %w", item.Key, err)
		}
	}
	return all, nil
}

// add takes one of the items of a client into account. The client's own comes first.
func (s *Stored) add(item store.Item) error {
	if item.Entity == Entity {
		s.Version = item.Version
		return item.Decode(&s.Client)
	}
	switch strings.TrimPrefix(item.Key, keyOf(s.ID)) {
	case secretSuffix:
		var held secrets
		err := item.Decode(&held)
		s.Secrets, s.secretsAt = held.Secrets, item.Version
		return err
	case useSuffix:
		var last use
		err := item.Decode(&last)
		s.LastUsed, s.usedAt = last.At, item.Version
		return err
	}
	return nil
}

// Save returns the write of a client. It stays out of the change feed, because nothing is derived from clients.
func (s Stored) Save(c store.Company) store.Op {
	return c.Save(keyOf(s.ID), Entity, s.Version, s.Client).Quietly()
}

// SaveSecrets returns the write of a client's secrets.
func (s Stored) SaveSecrets(c store.Company) store.Op {
	return c.Save(keyOf(s.ID)+secretSuffix, secretEntity, s.secretsAt, secrets{s.Secrets}).Quietly()
}

// End returns the client with the next generation, and the write that ends its tokens.
func (s Stored) End(ctx context.Context, c store.Company, now time.Time) (Stored, store.Op, error) {
	s.Generation++
	op, err := user.EndTokens(ctx, c, s.ID, s.Generation, now)
	return s, op, err
}

// Delete returns the writes that remove a client with all of its items, and end its tokens.
func (s Stored) Delete(ctx context.Context, c store.Company, now time.Time) ([]store.Op, error) {
	_, end, err := s.End(ctx, c, now)
	if err != nil {
		return nil, err
	}
	ops := []store.Op{c.Delete(keyOf(s.ID), Entity, s.Version).Quietly(), end}
	if s.secretsAt > 0 {
		ops = append(ops, c.Delete(keyOf(s.ID)+secretSuffix, secretEntity, s.secretsAt).Quietly())
	}
	if s.usedAt > 0 {
		ops = append(ops, c.Delete(keyOf(s.ID)+useSuffix, useEntity, s.usedAt).Quietly())
	}
	return ops, nil
}

// Use records that the client got a token, to the minute. One of two concurrent records is enough.
func (s Stored) Use(ctx context.Context, c store.Company, now time.Time) error {
	minute := now.UTC().Truncate(time.Minute)
	if !minute.After(s.LastUsed) {
		return nil
	}
	err := c.Commit(ctx, c.Save(keyOf(s.ID)+useSuffix, useEntity, s.usedAt, use{minute}).Quietly())
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return store.Fault(err, "")
}

// assertionEntity names the entity of the item by which an assertion counts once.
const assertionEntity = "client-assertion"

// Redeem records that an assertion of the client was used. fresh is false if it was used before.
func (s Stored) Redeem(ctx context.Context, c store.Company, assertionID string, expires time.Time) (fresh bool, err error) {
	sum := sha256.Sum256([]byte(assertionID))
	key := "CLIENTASSERTION#" + s.ID + "#" + hex.EncodeToString(sum[:])
	err = c.Commit(ctx, c.Create(key, assertionEntity, struct{}{}).Quietly().Until(expires))
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	return err == nil, store.Fault(err, "")
}
