package connector

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"orgops/shared/base/fault"
)

// Registry finds connectors by provider. The zero Registry is empty.
type Registry struct {
	connectors map[string]Connector
	fields     map[string]func() (map[string]field, error) // of each connector's schema, which is parsed once
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

// Lookup returns the connector of a provider.
func (r Registry) Lookup(provider string) (c Connector, ok bool) {
	c, ok = r.connectors[KindOf(provider)]
	return c, ok
}

// Find returns the connector of a provider, or a fault.NotFound that lists the known providers.
func (r Registry) Find(provider string) (Connector, error) {
	if c, ok := r.Lookup(provider); ok {
		return c, nil
	}
	return nil, fault.Newf(fault.NotFound, "there is no such provider; known are %s, each also with a name of its own after it, such as webhook-billing", strings.Join(r.Kinds(), ", "))
}

// CertifiedDigest returns a digest of the certified fields of a stored configuration of c, a connector of the registry. It is the
// same for two configurations if Changed lists no field.
func (r Registry) CertifiedDigest(c Connector, config json.RawMessage) (string, error) {
	schema, err := r.fields[c.Kind()]()
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
