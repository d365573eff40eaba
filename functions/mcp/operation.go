package mcp

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/web"
)

// operationsFile describes the operations that the endpoint offers. It is written from their registration, so that a start takes
// no time for reflection: go test ./functions -run TestTools -update.
//
//go:embed operations.json
var operationsFile []byte

// Operation describes an operation of the API that the endpoint offers.
type Operation struct {
	Name        string     `json:"name"` // its id
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Method      string     `json:"method"`
	Path        string     `json:"path"` // below the company's
	Scopes      [][]string `json:"scopes"`
	Bound       bool       `json:"bound,omitempty"` // answers tokens that are bound to an integration
	Tool        *web.Tool  `json:"tool,omitempty"`  // nil: it is read as a resource alone

	Arguments map[string]Place `json:"arguments"`
	Input     json.RawMessage  `json:"input,omitempty"`  // schema of the arguments
	Output    json.RawMessage  `json:"output,omitempty"` // schema of the answer
}

// Place says where an argument goes in a request.
type Place struct {
	In   string `json:"in"` // path, query, header or body
	Name string `json:"name,omitempty"`
}

// readOperations decodes the file.
func readOperations() ([]Operation, error) {
	var all []Operation
	err := json.Unmarshal(operationsFile, &all)
	return all, err
}

// Resources lists the operations that are read as resources: the parameter of a record's id, or "".
func Resources() map[string]string {
	return map[string]string{
		"get-brief": "", "get-context": "", "get-memory": "memoryId", "get-goal": "goalId", "get-recommendation": "recommendationId", "get-approval": "approvalId",
	}
}

// allows reports whether the caller's token lets it ask for the operation.
func (o Operation) allows(c web.Caller) bool {
	if c.Provider != "" && !o.Bound {
		return false
	}
	return slices.ContainsFunc(o.Scopes, func(scopes []string) bool {
		return !slices.ContainsFunc(scopes, func(scope string) bool { return !c.Has(scope) })
	})
}

// call holds a request for an operation.
type call struct {
	target string
	header http.Header
	body   []byte
}

// request places the arguments of a tool's call in a request. The operation itself checks their values.
func (o Operation) request(arguments map[string]json.RawMessage) (call, error) {
	c := call{header: http.Header{}}
	path, query, body := o.Path, url.Values{}, map[string]json.RawMessage{}
	var problems []fault.FieldError
	for name, value := range arguments {
		place, known := o.Arguments[name]
		if string(value) == "null" {
			continue // the argument is left out
		}
		switch text := plain(value); {
		case !known:
			problems = append(problems, fault.FieldError{Pointer: fault.Pointer(name), Detail: "is not an argument of this tool; see its inputSchema"})
		case place.In == "path":
			path = strings.ReplaceAll(path, "{"+place.Name+"}", url.PathEscape(text))
		case place.In == "query":
			query.Set(place.Name, text)
		case place.In == "header":
			c.header.Set(place.Name, text)
		default:
			body[name] = value
		}
	}
	for name, place := range o.Arguments {
		if place.In == "path" && strings.Contains(path, "{"+place.Name+"}") {
			problems = append(problems, fault.FieldError{Pointer: fault.Pointer(name), Detail: "is required"})
		}
	}
	if c.target = path; len(query) > 0 {
		c.target += "?" + query.Encode()
	}
	if o.hasBody() {
		var err error
		if c.body, err = json.Marshal(body); err != nil {
			return c, err
		}
	}
	return c, fault.Refuse(problems)
}

func (o Operation) hasBody() bool {
	for _, place := range o.Arguments {
		if place.In == "body" {
			return true
		}
	}
	return false
}

// plain returns the text of a JSON string, or any other value as it is written.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
