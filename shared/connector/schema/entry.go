package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"orgops/shared/connector"
	"orgops/shared/fault"
)

// entry is a connector with its schema, compiled when it is first needed: a request that configures nothing does not
// pay for it.
type entry struct {
	connector  connector.Connector
	once       sync.Once
	schema     *jsonschema.Schema
	properties map[string]property
	err        error
}

// property is what the registry itself reads of a field's schema.
type property struct {
	WriteOnly bool  `json:"writeOnly"`
	Certified *bool `json:"x-certified"`
}

func (e *entry) compile() error {
	e.once.Do(func() { e.err = e.compileOnce() })
	return e.err
}

func (e *entry) compileOnce() error {
	raw := e.connector.Schema()
	var own struct {
		Properties map[string]property `json:"properties"`
	}
	if err := json.Unmarshal(raw, &own); err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	const url = "config.json" // a name to compile by; nothing is loaded
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	if err := compiler.AddResource(url, doc); err != nil {
		return err
	}
	e.properties = own.Properties
	e.schema, err = compiler.Compile(url)
	return err
}

// violations lists what in a request does not meet the schema.
func (e *entry) violations(raw json.RawMessage) []fault.Problem {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return []fault.Problem{{Pointer: "", Detail: "must be one JSON object"}}
	}
	err = e.schema.Validate(value)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	known := make([]string, 0, len(e.properties))
	for name := range e.properties {
		known = append(known, name)
	}
	slices.Sort(known)
	problems := describe(invalid, known)
	slices.SortStableFunc(problems, func(a, b fault.Problem) int { return strings.Compare(a.Pointer, b.Pointer) })
	return problems
}

// describe turns a tree of violations into one problem for each leaf, in words that hold no value.
func describe(e *jsonschema.ValidationError, known []string) []fault.Problem {
	if k, ok := e.ErrorKind.(*kind.PropertyNames); ok {
		return []fault.Problem{{Pointer: connector.Pointer(append(namesAt(e.SchemaURL), k.Property)...), Detail: "this name is not allowed here"}}
	}
	if len(e.Causes) > 0 {
		var problems []fault.Problem
		for _, cause := range e.Causes {
			problems = append(problems, describe(cause, known)...)
		}
		return problems
	}
	var problems []fault.Problem
	refuse := func(detail string, below ...string) {
		problems = append(problems, fault.Problem{Pointer: connector.Pointer(append(slices.Clip(e.InstanceLocation), below...)...), Detail: detail})
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			refuse("is required", name)
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			refuse("unknown field; known are "+strings.Join(known, ", "), name)
		}
	default:
		refuse(phrase(e.ErrorKind))
	}
	return problems
}

// namesAt is where the object is whose names a propertyNames at this place of a schema is about. The library overwrites
// the InstanceLocation of these violations (and of no other), so it is taken from the schema: /properties/headers/propertyNames.
func namesAt(schemaURL string) []string {
	_, path, _ := strings.Cut(schemaURL, "#")
	tokens := strings.Split(path, "/")
	var at []string
	for i := 0; i+1 < len(tokens); i++ {
		if tokens[i] == "properties" {
			i++
			at = append(at, tokens[i])
		}
	}
	return at
}

// phrase says what would be right. It never quotes what was given.
func phrase(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		return "must be one of " + list(k.Want)
	case *kind.Const:
		return "must be " + list([]any{k.Want})
	case *kind.Pattern:
		return "must match " + k.Want
	case *kind.MinLength:
		return fmt.Sprintf("needs at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("at most %d characters", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("needs at least %d items", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("at most %d items", k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("at most %d members", k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are the same", k.Duplicates[0], k.Duplicates[1])
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	}
	return "does not meet the schema's " + strings.Join(k.KeywordPath(), "/")
}

func list(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", ")
}
