// Package schema checks what connectors are configured with against their schemas. It stands beside the connectors
// because only who configures them needs it: the validator compiles the meta-schemas of every draft when a process starts,
// which takes longer than the rest of a Lambda's start together.
package schema

import (
	"encoding/json"
	"fmt"
	"slices"

	"orgops/shared/connector"
	"orgops/shared/fault"
)

// Set is the schemas of a registry's connectors. Copies share what is compiled.
type Set struct {
	connectors connector.Registry
	entries    map[string]*entry
}

// Of is the schemas of the connectors in a registry.
func Of(connectors connector.Registry) Set {
	s := Set{connectors: connectors, entries: map[string]*entry{}}
	for _, kind := range connectors.Kinds() {
		c, _ := connectors.Lookup(kind)
		s.entries[kind] = &entry{connector: c}
	}
	return s
}

// Check lists everything that is wrong with a configuration request, with pointers into it: first what its schema says
// and, where that holds, what the connector says. No problem quotes a value.
func (s Set) Check(provider string, raw json.RawMessage) ([]fault.Problem, error) {
	e, err := s.compiled(provider)
	if err != nil {
		return nil, err
	}
	problems := e.violations(raw)
	if len(problems) > 0 {
		return problems, nil
	}
	if checker, ok := e.connector.(connector.Checker); ok {
		problems = checker.CheckConfig(raw)
	}
	return problems, nil
}

// Split parts a checked configuration request into the configuration to store, in canonical form, and the secrets in it:
// the values of the fields that the schema marks writeOnly, by field name.
func (s Set) Split(provider string, raw json.RawMessage) (config json.RawMessage, secrets map[string]string, err error) {
	e, err := s.compiled(provider)
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
	config, err = connector.Canonical(config)
	return config, secrets, err
}

// Changed lists the fields that differ between two stored configurations and that a certification was about: with any,
// the integration returns to the sandbox. A field is left out of that by "x-certified": false in its schema.
func (s Set) Changed(provider string, before, after json.RawMessage) ([]string, error) {
	e, err := s.compiled(provider)
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
		if connector.Digest(was[name]) != connector.Digest(is[name]) {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

func (s Set) compiled(provider string) (*entry, error) {
	c, err := s.connectors.Find(provider)
	if err != nil {
		return nil, err
	}
	e := s.entries[c.Kind()]
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
