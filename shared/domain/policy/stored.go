package policy

import (
	"context"
	"errors"
	"time"

	"orgops/shared/storage/store"
)

// StoredEntity and StoredKey name the entity and the sort key of the item with a company's policies.
const (
	StoredEntity = "policies"
	StoredKey    = "POLICIES"
)

// Stored holds the policies of a company. They apply next to the policies of the service.
type Stored struct {
	Policies  []Statement `json:"policies"`
	Digest    string      `json:"digest"` // of the whole set, with the policies of the service as they were at UpdatedAt
	UpdatedAt time.Time   `json:"updatedAt"`
	UpdatedBy string      `json:"updatedBy,omitempty"` // a user's id
}

// Load reads a company's policies and their version. A company that has stored none has no policies and version 0.
func Load(ctx context.Context, c store.Company) (Stored, int64, error) {
	var s Stored
	item, err := c.Get(ctx, StoredKey, &s)
	if errors.Is(err, store.ErrNotFound) {
		return Stored{}, 0, nil
	}
	return s, item.Version, err
}

// Unchanged returns the ops that fail a commit if the company's stored policies have changed since. It returns no op for a
// company that has stored none.
func Unchanged(ctx context.Context, c store.Company) ([]store.Op, error) {
	_, version, err := Load(ctx, c)
	if err != nil || version == 0 {
		return nil, store.Fault(err, "")
	}
	return []store.Op{c.Unchanged(StoredKey, version)}, nil
}

// Save returns the write that replaces a company's policies of the given version; version 0 stores the first ones.
func Save(c store.Company, version int64, s Stored) store.Op {
	return c.Save(StoredKey, StoredEntity, version, s)
}
