package integrations

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/event"
	"orgops/shared/web"
)

// EventType describes an event to which an endpoint can subscribe.
type EventType struct {
	Name        string          `json:"name" doc:"as events and subscriptions name it" example:"memory.updated"`
	Version     int             `json:"version" doc:"of the payload; a version only gains fields" format:"int32" example:"1"`
	Category    string          `json:"category" doc:"a subscription to the category, such as memory.*, has the event" example:"memory"`
	Description string          `json:"description" doc:"when it is sent"`
	Schema      json.RawMessage `json:"schema" doc:"JSON Schema (draft 2020-12) of the whole payload"`
	Example     json.RawMessage `json:"example" doc:"a payload"`
}

// EventTypeList lists every event, those of the contract first.
type EventTypeList struct {
	Items []EventType `json:"items" doc:"every event" nullable:"false"`
}

// eventTypes describes the events. The first request for them computes the descriptions, which follow from the code alone.
var eventTypes = sync.OnceValues(describeEvents) //nolint:gochecknoglobals // a constant that takes time to make

type eventTypeInput struct {
	web.IfNoneMatch
	Name string `path:"name" maxLength:"64" doc:"the event's name" example:"memory.updated"`
}

func (d Deps) listEventTypes(_ context.Context, in *web.IfNoneMatch) (*web.Tagged[EventTypeList], error) {
	all, err := eventTypes()
	if err != nil {
		return nil, err
	}
	return web.RespondContent(*in, EventTypeList{all})
}

func (d Deps) getEventType(_ context.Context, in *eventTypeInput) (*web.Tagged[EventType], error) {
	all, err := eventTypes()
	if err != nil {
		return nil, err
	}
	n := slices.IndexFunc(all, func(t EventType) bool { return t.Name == in.Name })
	if n < 0 {
		return nil, fault.Newf(fault.NotFound, "there is no event %q; list-event-types has the events", in.Name)
	}
	return web.RespondContent(in.IfNoneMatch, all[n])
}

func describeEvents() ([]EventType, error) {
	examples, err := exampleEvents()
	if err != nil {
		return nil, err
	}
	var all []EventType
	for _, k := range event.Kinds() {
		schema, err := json.Marshal(schemaOf(k))
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", k.Name, err)
		}
		all = append(all, EventType{
			Name: k.Name, Version: 1, Category: event.Category(k.Name), Description: "Sent when " + k.About + ".", Schema: schema, Example: examples[k.Name],
		})
	}
	return all, nil
}

// document is a schema that stands alone, with the schemas that it refers to.
type document struct {
	Dialect     string                  `json:"$schema"`
	Title       string                  `json:"title"`
	Description string                  `json:"description"`
	Type        string                  `json:"type"`
	Required    []string                `json:"required"`
	Properties  map[string]*huma.Schema `json:"properties"`
	Defs        map[string]*huma.Schema `json:"$defs,omitempty"`
}

// schemaOf returns the schema of an event's payload, from the types that the payload is made of.
func schemaOf(k event.Kind) document {
	const defs = "#/$defs/"
	schemas := huma.NewMapRegistry(defs, huma.DefaultSchemaNamer)
	data := EventData(huma.SchemaFromType(schemas, k.Shown))
	payload := EventPayload([]string{k.Name}, data)
	for _, s := range schemas.Map() {
		s.AdditionalProperties = true // a version gains fields
	}
	return document{
		Dialect: "https://json-schema.org/draft/2020-12/schema", Title: k.Name, Description: "Sent when " + k.About + ".",
		Type: payload.Type, Required: payload.Required, Properties: payload.Properties, Defs: schemas.Map(),
	}
}

// EventData returns the schema of an event's data: the fields of the item that the event is about. No field is required,
// because a large field may be left out.
func EventData(shown *huma.Schema) *huma.Schema {
	properties := maps.Clone(shown.Properties)
	delete(properties, "$schema")
	properties["previous"] = &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true,
		Description: "For an update, the former values of the changed fields; null for a field that was absent",
	}
	properties["omitted"] = &huma.Schema{
		Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString},
		Description: "The fields that were left out to keep the event below 20 kB; the API has them",
	}
	return &huma.Schema{Type: huma.TypeObject, Properties: properties, AdditionalProperties: true}
}

// EventPayload returns the schema of the payload of events of some types, with the schema of their data.
func EventPayload(names []string, data *huma.Schema) *huma.Schema {
	types := make([]any, len(names))
	for i, name := range names {
		types[i] = name
	}
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true, Required: []string{"id", "type", "timestamp", "companyId", "data"},
		Properties: map[string]*huma.Schema{
			"id":        {Type: huma.TypeString, Format: "uuid", Description: "The event's id, which is also the webhook-id; a repeat has the same id"},
			"type":      {Type: huma.TypeString, Enum: types, Description: "The event's name"},
			"timestamp": {Type: huma.TypeString, Format: "date-time", Description: "When the change was committed; when a sample was sent"},
			"companyId": {Type: huma.TypeString, Format: "uuid", Description: "The company of the event"},
			"data":      data,
		},
	}
}
