package integration

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"orgops/shared/storage/store"
)

// MappingRef says that the company has stored a mapping of its own for an integration, and which. It stands in the
// integration, so that an arrival reads the mapping's item only if its process does not hold the mapping.
type MappingRef struct {
	Digest string    `json:"digest"` // SHA-256 of the mapping's canonical JSON, base64url
	At     time.Time `json:"at"`     // when it was stored
}

// StoredMapping holds the mapping that a company has stored in the language of package mapping.
type StoredMapping struct {
	Mapping json.RawMessage `json:"mapping"`         // in canonical form
	Tests   json.RawMessage `json:"tests,omitempty"` // the arrivals on which it was tried when it was stored; no arrival reads them
	Digest  string          `json:"digest"`
	By      string          `json:"by"` // the user who stored it
	At      time.Time       `json:"at"`
}

// MappingEntity names the entity of the item that holds a mapping.
const MappingEntity = "mapping"

// MappingKey returns the sort key of an integration's mapping.
func MappingKey(provider string) string { return "MAPPING#" + provider }

// LoadMapping reads the company's mapping of an integration. It returns version 0 and no error if none is stored.
func LoadMapping(ctx context.Context, c store.Company, provider string) (m StoredMapping, version int64, err error) {
	item, err := c.Get(ctx, MappingKey(provider), &m)
	if errors.Is(err, store.ErrNotFound) {
		return StoredMapping{}, 0, nil
	}
	return m, item.Version, store.Fault(err, "")
}

// SaveMapping returns the write that replaces the mapping at version (0: none yet). The write stays out of the change feed,
// because consumers see the change of the integration.
func SaveMapping(c store.Company, provider string, version int64, m StoredMapping) store.Op {
	return c.Save(MappingKey(provider), MappingEntity, version, m).Quietly()
}
