package integrations

import "github.com/danielgtaylor/huma/v2"

// TransformSchema says of the objects that may be null that they may: a reference alone cannot.
func (Integration) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	for _, name := range []string{"credentials", "certification"} {
		ref := *s.Properties[name]
		description := ref.Description
		ref.Description = ""
		s.Properties[name] = &huma.Schema{AnyOf: []*huma.Schema{&ref, {Type: "null"}}, Description: description}
	}
	return s
}

// TransformSchema documents the bounds of names and values. Extensions are not validated: check does that, for all at once.
func (Credentials) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	values := s.Properties["credentials"]
	values.Extensions = map[string]any{"propertyNames": map[string]any{"pattern": credentialName}}
	values.AdditionalProperties = &huma.Schema{
		Type: huma.TypeString, Extensions: map[string]any{"minLength": 1, "maxLength": maxCredential},
	}
	return s
}
