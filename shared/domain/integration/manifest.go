package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/storage/store"
)

// ManifestRef says by which manifest of the company's own an integration is fetched. It stands in the integration, so that a sync
// reads the manifest's item only if its process does not hold the manifest.
type ManifestRef struct {
	Digest string `json:"digest"` // SHA-256 of the manifest's canonical JSON, base64url
}

// StoredManifest holds a manifest that a company has stored. It describes a kind of the company's own.
type StoredManifest struct {
	Kind      string          `json:"kind"`
	Manifest  json.RawMessage `json:"manifest"` // in canonical form
	Digest    string          `json:"digest"`
	By        string          `json:"by"` // the user who stored it
	CreatedAt time.Time       `json:"createdAt"`
	UpdatedAt time.Time       `json:"updatedAt"`
}

// ManifestEntity and ManifestPrefix name the entity of a manifest's item and the prefix of its key.
const (
	ManifestEntity = "manifest"
	ManifestPrefix = "MANIFEST#"
)

// MaxManifests limits the manifests of a company, and MaxManifestsOfEnterprise those of a company on the plan enterprise.
// MaxOfManifest limits the integrations that one manifest describes: a changed manifest returns all of them to the sandbox, and ends
// their credentials if they would go to another host, in one transaction.
const (
	MaxManifests             = 10
	MaxManifestsOfEnterprise = 50
	MaxOfManifest            = 45
)

// MostManifests returns how many manifests a company may have on a plan.
func MostManifests(plan string) int {
	if plan == "enterprise" {
		return MaxManifestsOfEnterprise
	}
	return MaxManifests
}

// ManifestKey returns the sort key of a kind's manifest.
func ManifestKey(kind string) string { return ManifestPrefix + kind }

// LoadManifest reads the manifest of a kind and its version. It returns fault.NotFound if the company has none of that kind.
func LoadManifest(ctx context.Context, c store.Company, kind string) (m StoredManifest, version int64, err error) {
	item, err := c.Get(ctx, ManifestKey(kind), &m)
	return m, item.Version, store.Fault(err, fmt.Sprintf("the company has no connector %q of its own", kind))
}

// ListManifests reads the manifests of a company, in order of their kinds.
func ListManifests(ctx context.Context, c store.Company) ([]StoredManifest, error) {
	var all []StoredManifest
	for item, err := range c.Items(ctx, store.Query{Prefix: ManifestPrefix}) {
		if err != nil {
			return nil, store.Fault(err, "")
		}
		var m StoredManifest
		if err := item.Decode(&m); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// SaveManifest returns the write of a manifest at version (0: none yet). The write stays out of the change feed, because consumers see
// the changes of its integrations.
func SaveManifest(c store.Company, version int64, m StoredManifest) store.Op {
	return c.Save(ManifestKey(m.Kind), ManifestEntity, version, m).Quietly()
}

// DescribedBy returns the op that fails a commit if the manifest of an integration's kind is no longer the one of ref.
func DescribedBy(ctx context.Context, c store.Company, kind string, ref ManifestRef) (store.Op, error) {
	m, version, err := LoadManifest(ctx, c, kind)
	if fault.KindOf(err) == fault.NotFound || err == nil && m.Digest != ref.Digest {
		return store.Op{}, fault.Wrap(fault.Conflict, "the manifest of "+kind+" was changed concurrently; read it again and retry", errors.Join(store.ErrConflict, err))
	}
	return c.Unchanged(ManifestKey(kind), version), err
}
