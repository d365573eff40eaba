package web

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/version"
)

// newDocument makes an OpenAPI 3.1 document without operations.
func newDocument(opts Options) *huma.OpenAPI {
	url := opts.ServerURL
	if url == "" {
		url = "/"
	}
	return &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: opts.Title, Version: opts.Build.Release, Extensions: buildExtensions(opts.Build),
			Description: "A company's control surface: how healthy its platform is, how ready it is, what happened, and what to do next. " +
				"Operations, parameters and fields marked " + openDetail + " are this implementation's choice and may change.\n\n" +
				"To begin: 1. log in (POST /auth/login) and copy access_token; 2. authorize with it; 3. use company_id of the same answer as " +
				"the company's id in every path.\n\n" +
				"Later versions may add fields to answers and values to enumerations: ignore those that you do not know.",
			License: &huma.License{Name: "Apache-2.0", URL: "https://www.apache.org/licenses/LICENSE-2.0"},
		},
		Servers: []*huma.Server{{URL: url}},
		Components: &huma.Components{
			Schemas: huma.NewMapRegistry("#/components/schemas/", schemaNames()),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				scheme: {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "access_token of POST /auth/login"},
			},
		},
	}
}

// buildExtensions tells the commit that the program was built from, if the build recorded it.
func buildExtensions(b version.Build) map[string]any {
	if b.Commit == "" {
		return nil
	}
	return map[string]any{"x-commit": b.Commit}
}

// schemaNames returns a function that names a schema after its type, with the package's name in front if another type has
// the same name.
func schemaNames() func(reflect.Type, string) string {
	taken := map[string]reflect.Type{}
	return func(t reflect.Type, hint string) string {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		name := huma.DefaultSchemaNamer(t, hint)
		if t.Kind() != reflect.Struct || t.Name() == "" {
			return name
		}
		if other, ok := taken[name]; ok && other != t {
			pkg := t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:]
			name = strings.ToUpper(pkg[:1]) + pkg[1:] + name
		}
		taken[name] = t
		return name
	}
}

// document completes an operation's documentation: path parameters, bodies, the Idempotency-Key header, and every status
// that the code around a handler may answer.
func document(op *huma.Operation, schemas huma.Registry) {
	scoped := scopesOf(op) != nil
	delete(op.Responses, "default")
	addPathParams(op)
	describeBodies(op, schemas)
	if takesKey(op) && !hasHeader(op, idempotencyHeader) {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: idempotencyHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString, Pattern: keyPattern},
			Description: "A repeat with the same key within 24 h does not run again and gets the first answer",
		})
	}
	if !scoped {
		extensions := map[string]any{"security": []any{}}
		maps.Copy(extensions, op.Extensions)
		op.Extensions = extensions // an empty list shows a reader that the operation is public on purpose
	}
	statuses := []int{400, 429, 500, 503} // an API gateway in front throttles every route, including the public ones
	if scoped {
		statuses = append(statuses, 401, 403)
	}
	if strings.Count(op.Path, "{") > strings.Count(op.Path, "{companyId}") {
		statuses = append(statuses, 404)
	}
	if scoped && op.Method != http.MethodGet {
		statuses = append(statuses, 409)
	}
	if len(op.Parameters) > 0 || op.RequestBody != nil {
		statuses = append(statuses, 422)
	}
	if op.RequestBody != nil || op.Method == http.MethodPost {
		statuses = append(statuses, 413)
	}
	if op.RequestBody != nil {
		statuses = append(statuses, 415)
	}
	if hasHeader(op, "If-Match") {
		statuses = append(statuses, 412)
	}
	if hasHeader(op, "If-None-Match") && op.Method == http.MethodGet {
		op.Responses["304"] = &huma.Response{Description: "Not Modified: the caller holds the current version"}
	}
	never, _ := op.Metadata[neverMark].([]int)
	for _, status := range statuses {
		if key := strconv.Itoa(status); op.Responses[key] == nil && !slices.Contains(never, status) {
			op.Responses[key] = problemResponse(status, schemas)
			if parametersOf(op) != nil {
				op.Responses[key].Content["application/json"] = op.Responses[key].Content[problemType]
			}
		}
	}
}

// keyPattern matches an Idempotency-Key, with or without the quotes of a structured field.
const keyPattern = `^"?[!#-~][!-~]{0,254}"?$`

// bodyMark is the metadata key for the body that DescribeBody documents.
const bodyMark = "orgops-body"

// Example holds a named example of a request body. The documentation's form offers it unchanged.
type Example struct {
	Name    string
	Summary string
	Value   any
}

// Body describes a body that the operation reads raw and checks itself. The documentation's form shows the first
// example.
type Body struct {
	Schema     *huma.Schema
	Components map[string]*huma.Schema // schemas that Schema refers to, by name
	Examples   []Example
	Media      string // "": application/json
}

// ComponentRef refers to a schema of the document by its name.
func ComponentRef(name string) string { return "#/components/schemas/" + name }

// DescribeBody documents a body that the operation reads raw and checks itself.
func DescribeBody(op huma.Operation, body Body) huma.Operation {
	op.SkipValidateBody = true
	return marked(op, bodyMark, body)
}

// inOrder marshals examples as OpenAPI writes them and keeps their order, which huma's own map would lose.
type inOrder []Example

// MarshalJSON implements json.Marshaler.
func (e inOrder) MarshalJSON() ([]byte, error) {
	object := []byte("{")
	for i, example := range e {
		if i > 0 {
			object = append(object, ',')
		}
		name, err := json.Marshal(example.Name)
		if err != nil {
			return nil, err
		}
		content, err := json.Marshal(&huma.Example{Summary: example.Summary, Value: example.Value})
		if err != nil {
			return nil, err
		}
		object = append(append(append(object, name...), ':'), content...)
	}
	return append(object, '}'), nil
}

// describeBodies replaces huma's schema for raw bytes by the body of DescribeBody. It also adds a body to each status that
// the operation describes without one. An error gets a problem. A second success, such as 200 next to 201, gets the body of
// the first.
func describeBodies(op *huma.Operation, schemas huma.Registry) {
	if body, ok := op.Metadata[bodyMark].(Body); ok && op.RequestBody != nil {
		media := &huma.MediaType{Schema: body.Schema}
		if len(body.Examples) > 0 {
			media.Extensions = map[string]any{"examples": inOrder(body.Examples)}
		}
		maps.Copy(schemas.Map(), body.Components)
		op.RequestBody.Content[cmp.Or(body.Media, "application/json")] = media
	}
	first := op.Responses[strconv.Itoa(op.DefaultStatus)]
	for status, response := range op.Responses {
		switch {
		case response.Content != nil || status == "204":
		case status >= "400":
			response.Content = problemContent(schemas)
		case first != nil && status < "300":
			response.Content, response.Headers = first.Content, first.Headers
		}
	}
}

// addPathParams documents the path parameters that the handler does not read, such as the company's id. It puts all path
// parameters first, in the path's order. It copies an example from the schema to the parameter, because the documentation's
// form fills in only an example of the parameter.
func addPathParams(op *huma.Operation) {
	var inPath []*huma.Param
	for _, part := range strings.Split(op.Path, "/") {
		name, ok := strings.CutPrefix(part, "{")
		name = strings.TrimSuffix(name, "}")
		if !ok {
			continue
		}
		at := slices.IndexFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "path" && p.Name == name })
		if at < 0 {
			inPath = append(inPath, &huma.Param{
				Name: name, In: "path", Required: true, Description: "The company's id",
				Schema: &huma.Schema{Type: huma.TypeString, Format: "uuid"},
			})
			continue
		}
		p := op.Parameters[at]
		if len(p.Schema.Examples) > 0 {
			p.Example = p.Schema.Examples[0]
		}
		if strings.HasSuffix(name, "Id") {
			// The document gets a copy with the format. Requests are checked without it: an id that is not a UUID gets 404,
			// not 422.
			schema := *p.Schema
			schema.Format, p.Schema = "uuid", &schema
		}
		inPath = append(inPath, p)
	}
	others := slices.DeleteFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "path" })
	op.Parameters = slices.Concat(inPath, others)
}

func problemResponse(status int, schemas huma.Registry) *huma.Response {
	r := &huma.Response{Description: http.StatusText(status), Content: problemContent(schemas)}
	if status == http.StatusPreconditionFailed {
		r.Headers = map[string]*huma.Param{"ETag": {Description: "The version that there is, if there is one", Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	return r
}

func problemContent(schemas huma.Registry) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{problemType: {Schema: schemas.Schema(reflect.TypeFor[Problem](), true, "")}}
}

func hasHeader(op *huma.Operation, name string) bool {
	return slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "header" && p.Name == name })
}
