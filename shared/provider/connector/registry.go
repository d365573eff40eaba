package connector

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
)

// Registry finds connectors by provider: those of the service, and those that a company describes itself. The zero Registry is empty.
type Registry struct {
	connectors map[string]Connector
	fields     map[string]func() (map[string]field, error) // of each connector's schema, which is parsed once
	own        Own
}

// Own finds the connectors that companies describe by manifests of their own.
type Own interface {
	// Find returns the connector of a company's kind as the company has stored it last. It returns fault.NotFound for any other kind.
	Find(ctx context.Context, c store.Company, kind string) (Described, error)
	// Has returns fault.NotFound if the company has stored no manifest of a kind. It does not ask whether a stored manifest can be used.
	Has(ctx context.Context, c store.Company, kind string) error
	// Of returns the connector of an integration that has a manifest.
	Of(ctx context.Context, c store.Company, i integration.Integration) (Described, error)
	// List returns the connectors of a company that can be used, in order of their kinds.
	List(ctx context.Context, c store.Company) ([]Described, error)
}

// Described is a connector that a manifest of a company describes.
type Described interface {
	Connector
	// Manifest identifies the manifest. Nil: it is the service's.
	Manifest() *integration.ManifestRef
}

// Streamed is a connector that names the lists that a sync reads. It serves Fetch.Tallies: it reads their streams as a whole, also where it
// could ask for the changes alone.
type Streamed interface {
	Connector
	// Streams lists the names under a configuration. Without one, a connector whose configuration names its lists has none.
	Streams(config json.RawMessage) []string
}

// StreamsOf lists the streams of a connector under a configuration.
func StreamsOf(c Connector, config json.RawMessage) []string {
	if streamed, ok := c.(Streamed); ok {
		return streamed.Streams(config)
	}
	return nil
}

// ManifestOf returns what identifies the manifest of a company's own connector, and nil for a connector of the service.
func ManifestOf(c Connector) *integration.ManifestRef {
	if d, ok := c.(Described); ok {
		return d.Manifest()
	}
	return nil
}

// New makes a registry. If two connectors have the same kind, the later one wins.
func New(connectors ...Connector) Registry {
	r := Registry{connectors: map[string]Connector{}, fields: map[string]func() (map[string]field, error){}}
	for _, c := range connectors {
		r.connectors[c.Kind()] = c
		r.fields[c.Kind()] = sync.OnceValues(func() (map[string]field, error) { return fields(c) })
	}
	return r
}

// With returns the registry with the connectors that companies describe themselves.
func (r Registry) With(own Own) Registry {
	r.own = own
	return r
}

// KindOf returns the kind of connector for a provider name. A company may have several integrations of a kind: the first one has the
// kind's name, such as github, and further ones have a name of their own after it, such as github-website.
func KindOf(provider string) string {
	if kind, name, ok := strings.Cut(provider, "-"); ok && isInstanceName(name) {
		return kind
	}
	return provider
}

// isInstanceName reports whether name matches ^[a-z0-9-]{1,32}$.
func isInstanceName(name string) bool {
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-':
		default:
			return false
		}
	}
	return 1 <= len(name) && len(name) <= 32
}

// Lookup returns the service's connector of a provider.
func (r Registry) Lookup(provider string) (c Connector, ok bool) {
	c, ok = r.connectors[KindOf(provider)]
	return c, ok
}

// Find returns the connector of a provider: the service's, or else the company's own, which takes one read. It returns a fault.NotFound
// that lists the known providers.
func (r Registry) Find(ctx context.Context, company store.Company, provider string) (Connector, error) {
	if c, ok := r.Lookup(provider); ok {
		return c, nil
	}
	if kind := KindOf(provider); r.own != nil && isKind(kind) {
		if c, err := r.own.Find(ctx, company, kind); fault.KindOf(err) != fault.NotFound {
			return c, err
		}
	}
	return nil, r.unknown()
}

// Knows returns the error of Find for a provider that neither the service nor the company has. It is nil for a stored manifest that cannot
// be used: what it has brought can still be read and deleted.
func (r Registry) Knows(ctx context.Context, company store.Company, provider string) error {
	if _, ok := r.Lookup(provider); ok {
		return nil
	}
	if kind := KindOf(provider); r.own != nil && isKind(kind) {
		if err := r.own.Has(ctx, company, kind); fault.KindOf(err) != fault.NotFound {
			return err
		}
	}
	return r.unknown()
}

func (r Registry) unknown() error {
	return fault.Newf(fault.NotFound, "there is no such provider; known are %s, and the connectors of the company's own, each also with a name of its own after it, such as webhook-billing", strings.Join(r.Kinds(), ", "))
}

// Of returns the connector of an integration. It reads the store only for a manifest that the process does not hold.
func (r Registry) Of(ctx context.Context, company store.Company, i integration.Integration) (Connector, error) {
	if i.Manifest != nil && r.own != nil {
		return r.own.Of(ctx, company, i)
	}
	return r.Find(ctx, company, i.Provider)
}

// All lists the connectors of the service and of the company, by kind. A kind that the service has got since is the service's.
func (r Registry) All(ctx context.Context, company store.Company) ([]Connector, error) {
	all := slices.Collect(maps.Values(r.connectors))
	if r.own != nil {
		own, err := r.own.List(ctx, company)
		if err != nil {
			return nil, err
		}
		for _, c := range own {
			if _, taken := r.connectors[c.Kind()]; !taken {
				all = append(all, c)
			}
		}
	}
	slices.SortFunc(all, func(a, b Connector) int { return strings.Compare(a.Kind(), b.Kind()) })
	return all, nil
}

// isKind reports whether a kind has the form that every manifest's kind has: ^[a-z][a-z0-9]{1,30}$. No other one is worth a read.
func isKind(kind string) bool {
	letter := func(c rune) bool { return 'a' <= c && c <= 'z' }
	other := func(c rune) bool { return !letter(c) && (c < '0' || c > '9') }
	return 2 <= len(kind) && len(kind) <= 31 && letter(rune(kind[0])) && !strings.ContainsFunc(kind, other)
}

// CertifiedDigest returns a digest of the certified fields of a stored configuration of c, a connector that the registry has found. It is the
// same for two configurations if Changed lists no field.
func (r Registry) CertifiedDigest(c Connector, config json.RawMessage) (string, error) {
	of := r.fields[c.Kind()]
	if ManifestOf(c) != nil {
		of = func() (map[string]field, error) { return fields(c) }
	}
	schema, err := of()
	if err != nil {
		return "", err
	}
	given, err := certified(schema, config)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(given)
	return Digest(text), err
}

// Kinds lists the kinds of connector, sorted.
func (r Registry) Kinds() []string {
	kinds := make([]string, 0, len(r.connectors)+1)
	for kind := range r.connectors {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}
