package connector

import (
	"encoding/json"
	"fmt"
	"slices"

	"orgops/shared/base/fault"
)

// field holds the keywords of a field's schema that the service reads.
type field struct {
	WriteOnly bool  `json:"writeOnly"`
	Certified *bool `json:"x-certified"`
	Widens    *bool `json:"x-widens"`
}

// Split splits a configuration request into the configuration to store, in canonical form, and the secrets by field name.
// The secrets are the values of the fields that the schema marks writeOnly. The request must meet the connector's schema.
func Split(c Connector, request json.RawMessage) (config json.RawMessage, secrets map[string]string, err error) {
	schema, err := fields(c)
	if err != nil {
		return nil, nil, err
	}
	given, err := members(request)
	if err != nil {
		return nil, nil, err
	}
	secrets = map[string]string{}
	for name, value := range given {
		if !schema[name].WriteOnly {
			continue
		}
		var secret string
		if json.Unmarshal(value, &secret) == nil { // the schema allows only strings
			secrets[name] = secret
		}
		delete(given, name)
	}
	config, err = json.Marshal(given)
	if err != nil {
		return nil, nil, err
	}
	config, err = Canonical(config)
	return config, secrets, err
}

// Changed lists the certified fields that differ between two stored configurations. If there are any, the integration
// returns to the sandbox. "x-certified": false in a field's schema excludes the field.
func Changed(c Connector, before, after json.RawMessage) ([]string, error) {
	schema, err := fields(c)
	if err != nil {
		return nil, err
	}
	old, err := certified(schema, before)
	if err != nil {
		return nil, err
	}
	updated, err := certified(schema, after)
	if err != nil {
		return nil, err
	}
	changed := []string{}
	for name := range union(old, updated) {
		if Digest(old[name]) != Digest(updated[name]) {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

// certified returns the certified fields of a stored configuration.
func certified(schema map[string]field, config json.RawMessage) (map[string]json.RawMessage, error) {
	given, err := members(config)
	if err != nil {
		return nil, err
	}
	for name := range given {
		if f := schema[name]; f.Certified != nil && !*f.Certified {
			delete(given, name)
		}
	}
	return given, nil
}

func fields(c Connector) (map[string]field, error) {
	var schema struct {
		Properties map[string]field `json:"properties"`
	}
	if err := json.Unmarshal(c.Schema(), &schema); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", c.Kind(), err)
	}
	return schema.Properties, nil
}

func members(object json.RawMessage) (map[string]json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &given); err != nil {
		return nil, fault.New(fault.Malformed, "the configuration must be a JSON object")
	}
	return given, nil
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
