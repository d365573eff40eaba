package manifest

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/outbound"
)

// maxKept limits the manifests of companies that a process keeps compiled.
const maxKept = 200

// Own makes the connectors that companies describe by manifests of their own. It implements connector.Own. A manifest is compiled once,
// whichever integrations it describes. It is safe for concurrent use.
type Own struct {
	client *outbound.Client
	now    func() time.Time

	mu   sync.Mutex
	kept map[string]*Connector // by the digest of the content, since companies share them
}

// NewOwn makes the connectors, which fetch through client, and count waits from now.
func NewOwn(client *outbound.Client, now func() time.Time) *Own {
	return &Own{client: client, now: now}
}

// Find implements connector.Own.
func (o *Own) Find(ctx context.Context, c store.Company, kind string) (connector.Described, error) {
	stored, _, err := integration.LoadManifest(ctx, c, kind)
	if err != nil {
		return nil, err
	}
	return o.compiled(stored)
}

// Of implements connector.Own.
func (o *Own) Of(ctx context.Context, c store.Company, i integration.Integration) (connector.Described, error) {
	if kept := o.held(i.Manifest.Digest); kept != nil {
		return kept, nil
	}
	stored, _, err := integration.LoadManifest(ctx, c, i.Kind)
	if err != nil {
		return nil, err
	}
	if stored.Digest != i.Manifest.Digest {
		changed := fault.Newf(fault.Unavailable, "the manifest of %s is being changed; try again", i.Kind)
		changed.RetryAfter = time.Second
		return nil, changed
	}
	return o.compiled(stored)
}

// Has implements connector.Own.
func (o *Own) Has(ctx context.Context, c store.Company, kind string) error {
	_, _, err := integration.LoadManifest(ctx, c, kind)
	return err
}

// List implements connector.Own. It leaves out a manifest that cannot be used, so that the others stay usable.
func (o *Own) List(ctx context.Context, c store.Company) ([]connector.Described, error) {
	all, err := integration.ListManifests(ctx, c)
	if err != nil {
		return nil, err
	}
	list := make([]connector.Described, 0, len(all))
	for _, stored := range all {
		made, err := o.compiled(stored)
		if err != nil {
			continue
		}
		list = append(list, made)
	}
	return list, nil
}

func (o *Own) held(digest string) *Connector {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept[digest]
}

// unusable says that a stored manifest cannot be used. The cause is in the log: it is no problem of the request.
func unusable(stored integration.StoredManifest, cause error) error {
	slog.Default().Error("a stored manifest cannot be used", "kind", stored.Kind, "digest", stored.Digest, "error", cause)
	return fault.Newf(fault.Conflict, "the stored manifest of the connector %s cannot be used; store it again", stored.Kind)
}

// compiled returns the connector of a stored manifest. The manifest was checked when it was stored.
func (o *Own) compiled(stored integration.StoredManifest) (*Connector, error) {
	raw, err := connector.Verified("manifest", stored.Manifest, stored.Digest)
	if err != nil {
		return nil, unusable(stored, err)
	}
	if kept := o.held(stored.Digest); kept != nil {
		return kept, nil
	}
	m, err := Parse(raw)
	if err == nil && m.Kind != stored.Kind {
		err = errors.New("it names another kind")
	}
	if err != nil {
		return nil, unusable(stored, err)
	}
	made := New(stored.Kind, func() *Manifest { return m }, o.client, o.now)
	made.own = &integration.ManifestRef{Digest: stored.Digest}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.kept == nil || len(o.kept) >= maxKept { // dropping all is rare, and needs no order of use
		o.kept = map[string]*Connector{}
	}
	o.kept[stored.Digest] = made
	return made, nil
}
