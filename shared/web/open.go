package web

import (
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// openDetail marks a detail that the published contract leaves open and this implementation has chosen. A marked detail may
// change with a reason. A detail without the mark is part of the contract.
const openDetail = "x-open-detail"

// shownOperation names an operation in the published contract, and the fields of its bodies that the contract shows.
type shownOperation struct {
	method, path      string
	request, response []string
}

// shown lists all operations in the published contract. The contract's last route, GET /api/docs, is missing here because
// it is a web page.
func shown() []shownOperation {
	get := func(path string, response ...string) shownOperation {
		return shownOperation{"GET", companyPath + path, nil, response}
	}
	return []shownOperation{
		{"POST", "/auth/login", []string{"email", "password"}, nil},
		get("/mission-control/health"), get("/mission-control/readiness"), get("/mission-control/dashboard"),
		get("/mission-control/timeline"), get("/intelligence/brief"), get("/intelligence/recommendations"),
		get("/integrations", "provider", "url", "events"),
		{"POST", companyPath + "/integrations/{provider}", []string{"url", "events"}, []string{"provider", "url", "events"}},
		{"POST", companyPath + "/memory/sync/{provider}", nil, nil},
	}
}

// shownAnywhere names a field that the contract shows in every body.
const shownAnywhere = "contextVersion"

// marker marks a document. fields holds the shown fields of each object schema.
type marker struct {
	doc    *huma.OpenAPI
	fields map[*huma.Schema][]string
	done   map[*huma.Schema]bool
}

// OperationsOf lists the operations of a document, in no order.
func OperationsOf(doc *huma.OpenAPI) []*huma.Operation {
	var all []*huma.Operation
	for _, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op != nil {
				all = append(all, op)
			}
		}
	}
	return all
}

// markOpen puts the mark on every operation, parameter and schema field that is not shown.
func markOpen(doc *huma.OpenAPI) {
	m := marker{doc: doc, fields: map[*huma.Schema][]string{}, done: map[*huma.Schema]bool{}}
	operations := OperationsOf(doc)
	for _, op := range operations {
		m.show(op)
	}
	for _, op := range operations {
		m.markParams(op)
		eachBody(op, m.mark)
	}
	for _, schema := range doc.Components.Schemas.Map() {
		m.mark(schema)
	}
}

// show records the shown fields of an operation in the contract, and marks an operation outside the contract.
func (m marker) show(op *huma.Operation) {
	for _, s := range shown() {
		if s.method == op.Method && s.path == op.Path {
			if op.RequestBody != nil {
				m.showFields(op.RequestBody.Content, s.request)
			}
			for _, response := range op.Responses {
				m.showFields(response.Content, s.response)
			}
			return
		}
	}
	if op.Extensions == nil {
		op.Extensions = map[string]any{}
	}
	op.Extensions[openDetail] = true
}

func (m marker) showFields(content map[string]*huma.MediaType, names []string) {
	if media := content["application/json"]; media != nil && len(names) > 0 {
		m.showIn(media.Schema, names)
	}
}

// showIn records the shown fields of a body's schema. It follows references and alternatives, and goes into the items of a
// list.
func (m marker) showIn(s *huma.Schema, names []string) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		m.showIn(m.doc.Components.Schemas.SchemaFromRef(s.Ref), names)
		return
	}
	m.fields[s] = append(m.fields[s], names...)
	for _, alternative := range s.OneOf {
		m.showIn(alternative, names)
	}
	if items := s.Properties["items"]; items != nil {
		m.showIn(items.Items, names)
	}
}

func (m marker) markParams(op *huma.Operation) {
	for _, p := range op.Parameters {
		if p.In == "path" && (p.Name == "companyId" || p.Name == "provider") {
			continue
		}
		if p.Extensions == nil {
			p.Extensions = map[string]any{}
		}
		p.Extensions[openDetail] = true
	}
}

func eachBody(op *huma.Operation, visit func(*huma.Schema)) {
	if op.RequestBody != nil {
		for _, media := range op.RequestBody.Content {
			visit(media.Schema)
		}
	}
	for _, response := range op.Responses {
		for _, media := range response.Content {
			visit(media.Schema)
		}
	}
}

func (m marker) mark(s *huma.Schema) {
	if s == nil || m.done[s] {
		return
	}
	m.done[s] = true
	for name, property := range s.Properties {
		if !m.isShown(s, name) {
			if property.Extensions == nil {
				property.Extensions = map[string]any{}
			}
			property.Extensions[openDetail] = true
		}
		m.mark(property)
	}
	m.markRaw(s, s.Extensions["properties"])
	m.mark(s.Items)
	for _, alternatives := range [][]*huma.Schema{s.OneOf, s.AnyOf, s.AllOf} {
		for _, alternative := range alternatives {
			m.mark(alternative)
		}
	}
	if additional, ok := s.AdditionalProperties.(*huma.Schema); ok {
		m.mark(additional)
	}
}

// markRaw marks the fields of a JSON Schema that comes from a connector.
func (m marker) markRaw(s *huma.Schema, properties any) {
	fields, _ := properties.(map[string]any)
	for name, field := range fields {
		if schema, ok := field.(map[string]any); ok && !m.isShown(s, name) {
			schema[openDetail] = true
		}
	}
}

func (m marker) isShown(s *huma.Schema, name string) bool {
	return name == shownAnywhere || slices.Contains(m.fields[s], name)
}
