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

// TransformSchema gives names and values their bounds.
func (Credentials) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	values := s.Properties["credentials"]
	values.Extensions = map[string]any{"propertyNames": map[string]any{"pattern": credentialName.String()}}
	values.AdditionalProperties = &huma.Schema{Type: huma.TypeString, MinLength: new(1), MaxLength: new(maxCredential)}
	return s
}
