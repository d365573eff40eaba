package integrations

import "github.com/danielgtaylor/huma/v2"

// TransformSchema documents the bounds of names and values. huma does not validate extensions; check does, and reports all
// problems at once.
func (CredentialsRequest) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	values := s.Properties["credentials"]
	values.Extensions = map[string]any{"propertyNames": map[string]any{"pattern": credentialName}}
	values.AdditionalProperties = &huma.Schema{
		Type: huma.TypeString, Extensions: map[string]any{"minLength": 1, "maxLength": maxCredential},
	}
	return s
}
