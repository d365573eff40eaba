package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
)

// CheckBody lists everything in a JSON body that does not meet a JSON Schema (draft 2020-12), sorted by pointer. No problem
// quotes a value. CheckBody returns fault.Malformed for a body that is not JSON.
//
// It serves operations that read their body raw because the schema depends on the request. It supports the keywords that
// huma checks, and propertyNames. A schema with another keyword or without a type is an error.
func CheckBody(schema, body json.RawMessage) ([]fault.FieldError, error) {
	replaceErrors()
	s, err := parseSchema(schema, "")
	if err != nil {
		return nil, err
	}
	var value any
	if err := decode(body, &value); err != nil {
		return nil, malformed("", []error{&huma.ErrorDetail{Location: "body", Message: err.Error(), Value: string(body)}})
	}
	c := checking{path: huma.NewPathBuffer([]byte("body"), len("body")), result: &huma.ValidateResult{}}
	value = c.fit(s, value)
	huma.Validate(nil, s, c.path, huma.ModeWriteToServer, value, c.result)
	return c.problems(), nil
}

const (
	propertyNames = "propertyNames"

	// patternDescription says in words what a pattern allows. A problem names it instead of the regular expression.
	patternDescription = "x-pattern-description"
)

// parseSchema reads a schema. A schema without a type gets the type implied.
func parseSchema(document json.RawMessage, implied string) (*huma.Schema, error) {
	var members map[string]json.RawMessage
	s := &huma.Schema{Type: implied}
	if err := errors.Join(json.Unmarshal(document, &members), json.Unmarshal(document, s)); err != nil {
		return nil, err
	}
	for keyword := range members {
		if !slices.Contains(keywords(), keyword) && !strings.HasPrefix(keyword, "x-") {
			return nil, fmt.Errorf("unsupported schema keyword %s; remove it", keyword)
		}
	}
	if s.Type == "" || s.Type == huma.TypeArray && s.Items == nil {
		return nil, errors.New("schema without a type, or array schema without items; add the missing keyword")
	}
	if err := parseBelow(s, members); err != nil {
		return nil, err
	}
	if says, ok := members[patternDescription]; ok {
		if err := json.Unmarshal(says, &s.PatternDescription); err != nil {
			return nil, fmt.Errorf("%s: %w", patternDescription, err)
		}
	}
	if s.Format == "uri" {
		s.Format = "" // the connector's own check says what is wrong with a URL
	}
	s.PrecomputeMessages()
	return s, nil
}

// keywords lists the supported keywords. CheckBody ignores those in the last line, which do not affect validity.
func keywords() []string {
	return []string{
		"type", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "format", "items", "minItems", "maxItems", "uniqueItems",
		"properties", "required", "additionalProperties", "minProperties", "maxProperties", propertyNames,
		"$schema", "title", "description", "default", "examples", "writeOnly",
	}
}

// parseBelow reads the schemas inside a schema. propertyNames goes into the extensions, because huma's type lacks it.
func parseBelow(s *huma.Schema, members map[string]json.RawMessage) error {
	var err error
	below := func(document json.RawMessage, implied string) *huma.Schema {
		sub, subErr := parseSchema(document, implied)
		err = errors.Join(err, subErr)
		return sub
	}
	if s.Items != nil {
		s.Items = below(members["items"], "")
	}
	if len(s.Properties) > 0 {
		var properties map[string]json.RawMessage
		err = json.Unmarshal(members["properties"], &properties)
		for name, document := range properties {
			s.Properties[name] = below(document, "")
		}
	}
	if _, isSchema := s.AdditionalProperties.(map[string]any); isSchema {
		s.AdditionalProperties = below(members["additionalProperties"], "")
	}
	if names, ok := members[propertyNames]; ok {
		s.Extensions = map[string]any{propertyNames: below(names, huma.TypeString)}
	}
	return err
}

// checking holds the state of one CheckBody call.
type checking struct {
	path   *huma.PathBuffer
	result *huma.ValidateResult
}

// misfit replaces a value whose type its schema does not allow. It has a field, so that two misfits have different
// addresses and uniqueItems finds no duplicates among them.
type misfit struct{ _ byte }

// fitter rewrites values so that huma can check all of them.
type fitter struct {
	schemas huma.Registry // resolves references; nil without any
	path    *huma.PathBuffer
	members func(s *huma.Schema, object map[string]any) map[string]any // rewrites an object
}

// fit replaces null, which huma accepts for an optional member, and lists and objects of the wrong type: huma compares the
// items of a list with uniqueItems, and panics on those.
func (f fitter) fit(s *huma.Schema, value any) any {
	for s != nil && s.Ref != "" {
		s = f.schemas.SchemaFromRef(s.Ref)
	}
	if s == nil || s.Type == "" {
		return value
	}
	switch v := value.(type) {
	case nil:
		if !s.Nullable {
			return &misfit{}
		}
	case []any:
		if s.Type != huma.TypeArray {
			return &misfit{}
		}
		for i := range v {
			f.path.PushIndex(i)
			v[i] = f.fit(s.Items, v[i])
			f.path.Pop()
		}
	case map[string]any:
		if s.Type != huma.TypeObject {
			return &misfit{}
		}
		return f.members(s, v)
	}
	return value
}

// memberSchema returns the schema of an object's member, or nil.
func memberSchema(s *huma.Schema, name string) *huma.Schema {
	if sub := s.Properties[name]; sub != nil {
		return sub
	}
	sub, _ := s.AdditionalProperties.(*huma.Schema)
	return sub
}

// fit rewrites a value, and reports what huma does not check.
func (c checking) fit(s *huma.Schema, value any) any {
	return fitter{path: c.path, members: c.fitMembers}.fit(s, value)
}

// fitMembers quotes names, because huma separates the names in a location by dots and brackets.
func (c checking) fitMembers(s *huma.Schema, object map[string]any) map[string]any {
	fitted := make(map[string]any, len(object))
	names, _ := s.Extensions[propertyNames].(*huma.Schema)
	for name, value := range object {
		quoted := quote(name)
		c.path.Push(quoted)
		if names != nil && !meets(names, name) {
			c.result.Add(c.path, nil, strings.TrimSuffix("this name is not allowed here; needed is "+names.PatternDescription, "; needed is "))
		}
		switch sub := memberSchema(s, name); {
		case sub != nil:
			fitted[quoted] = c.fit(sub, value)
		case s.AdditionalProperties == false:
			c.result.Add(c.path, nil, "is not a known field; known are "+strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", "))
		}
		c.path.Pop()
	}
	return fitted
}

func meets(s *huma.Schema, value any) bool {
	var result huma.ValidateResult
	huma.Validate(nil, s, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, value, &result)
	return len(result.Errors) == 0
}

// problems returns the findings, in the same wording as for any other body.
func (c checking) problems() []fault.FieldError {
	var problems []fault.FieldError
	for _, err := range c.result.Errors {
		var d *huma.ErrorDetail
		if errors.As(err, &d) {
			p := publicDetail(d)
			p.Pointer = unquote(p.Pointer)
			problems = append(problems, p)
		}
	}
	slices.SortStableFunc(problems, func(a, b fault.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
	return slices.Compact(problems)
}

// quote escapes the characters that separate names in huma's locations. An empty name becomes "%".
func quote(name string) string {
	if name == "" {
		return "%"
	}
	return strings.NewReplacer("%", "%25", ".", "%2E", "[", "%5B", "]", "%5D").Replace(name)
}

func unquote(pointer string) string {
	return strings.NewReplacer("%25", "%", "%2E", ".", "%5B", "[", "%5D", "]", "%", "").Replace(pointer)
}
