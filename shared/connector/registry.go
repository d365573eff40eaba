package connector

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"orgops/shared/fault"
)

// Checker is a connector with rules for a configuration that JSON Schema cannot say. It is given only what meets the
// schema.
type Checker interface {
	CheckConfig(config json.RawMessage) []fault.Problem
}

// Registry is the connectors that a service has. Its zero value has none; copies share their compiled schemas.
type Registry struct {
	entries map[string]*entry
}

// New is a registry of connectors; of two of the same kind the later counts.
func New(connectors ...Connector) Registry {
	r := Registry{entries: make(map[string]*entry, len(connectors))}
	for _, c := range connectors {
		r.entries[c.Kind()] = &entry{connector: c}
	}
	return r
}

// named is the kind that a company may have several of, as webhook-<name>.
const named = "webhook"

var instanceName = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// KindOf is the kind of connector that a provider name stands for: "webhook" for "webhook-billing", and itself for
// everything else.
func KindOf(provider string) string {
	if name, ok := strings.CutPrefix(provider, named+"-"); ok && instanceName.MatchString(name) {
		return named
	}
	return provider
}

// Lookup is the connector of a provider.
func (r Registry) Lookup(provider string) (c Connector, ok bool) {
	e, ok := r.entries[KindOf(provider)]
	if !ok {
		return nil, false
	}
	return e.connector, true
}

// Find is Lookup, with fault.NotFound that lists the known providers for one that is not.
func (r Registry) Find(provider string) (Connector, error) {
	if c, ok := r.Lookup(provider); ok {
		return c, nil
	}
	return nil, fault.Newf(fault.NotFound, "there is no such provider; known are %s", strings.Join(r.Known(), ", "))
}

// Known lists the provider names that there can be, sorted, webhook-<name> as it stands here.
func (r Registry) Known() []string {
	known := r.Kinds()
	if _, ok := r.entries[named]; ok {
		known = append(known, named+"-<name>")
	}
	return known
}

// Kinds lists the kinds of connector, sorted.
func (r Registry) Kinds() []string {
	kinds := make([]string, 0, len(r.entries)+1)
	for kind := range r.entries {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// Check lists everything that is wrong with a configuration request, with pointers into it: first what its schema says
// and, where that holds, what the connector says. No problem quotes a value.
func (r Registry) Check(provider string, raw json.RawMessage) ([]fault.Problem, error) {
	e, err := r.compiled(provider)
	if err != nil {
		return nil, err
	}
	problems := e.violations(raw)
	if len(problems) > 0 {
		return problems, nil
	}
	if checker, ok := e.connector.(Checker); ok {
		problems = checker.CheckConfig(raw)
	}
	return problems, nil
}

// Split parts a checked configuration request into the configuration to store, in canonical form, and the secrets in it:
// the values of the fields that the schema marks writeOnly, by field name.
func (r Registry) Split(provider string, raw json.RawMessage) (config json.RawMessage, secrets map[string]string, err error) {
	e, err := r.compiled(provider)
	if err != nil {
		return nil, nil, err
	}
	fields, err := members(raw)
	if err != nil {
		return nil, nil, err
	}
	secrets = map[string]string{}
	for name, value := range fields {
		if !e.properties[name].WriteOnly {
			continue
		}
		var secret string
		if json.Unmarshal(value, &secret) == nil { // the schema has made it a string
			secrets[name] = secret
		}
		delete(fields, name)
	}
	config, err = json.Marshal(fields)
	if err != nil {
		return nil, nil, err
	}
	config, err = Canonical(config)
	return config, secrets, err
}

// Changed lists the fields that differ between two stored configurations and that a certification was about: with any,
// the integration returns to the sandbox. A field is left out of that by "x-certified": false in its schema.
func (r Registry) Changed(provider string, before, after json.RawMessage) ([]string, error) {
	e, err := r.compiled(provider)
	if err != nil {
		return nil, err
	}
	was, err := members(before)
	if err != nil {
		return nil, err
	}
	is, err := members(after)
	if err != nil {
		return nil, err
	}
	changed := []string{}
	for name := range union(was, is) {
		if p := e.properties[name]; p.Certified != nil && !*p.Certified {
			continue
		}
		if Digest(was[name]) != Digest(is[name]) {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

func (r Registry) compiled(provider string) (*entry, error) {
	if _, err := r.Find(provider); err != nil {
		return nil, err
	}
	e := r.entries[KindOf(provider)]
	if err := e.compile(); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", e.connector.Kind(), err)
	}
	return e, nil
}

func members(object json.RawMessage) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &fields); err != nil {
		return nil, fault.New(fault.Malformed, "a configuration is a JSON object")
	}
	return fields, nil
}

func union(a, b map[string]json.RawMessage) map[string]struct{} {
	names := make(map[string]struct{}, len(a)+len(b))
	for name := range a {
		names[name] = struct{}{}
	}
	for name := range b {
		names[name] = struct{}{}
	}
	return names
}
