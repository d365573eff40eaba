package integrations

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/event"
	"orgops/shared/web"
)

// EventType describes an event to which an endpoint can subscribe, in one of its versions.
type EventType struct {
	Name        string          `json:"name" doc:"as events and subscriptions name it" example:"memory.updated"`
	Version     int             `json:"version" doc:"of the payload that the schema and the example show; a version only gains fields" format:"int32" example:"1"`
	Category    string          `json:"category" doc:"a subscription to the category, such as memory.*, has the event" example:"memory"`
	Description string          `json:"description" doc:"when it is sent"`
	Schema      json.RawMessage `json:"schema" doc:"JSON Schema (draft 2020-12) of the whole payload"`
	Example     json.RawMessage `json:"example" doc:"a payload"`
	Versions    []EventVersion  `json:"versions" doc:"those that are sent, the newest first; an endpoint chooses by its eventVersions" nullable:"false"`
}

// EventVersion names a version of an event's payload.
type EventVersion struct {
	Version int       `json:"version" doc:"its number" format:"int32" example:"1"`
	EndsAt  time.Time `json:"endsAt,omitzero" doc:"of a former one, until when it is sent: a year after the next one began"`
}

// EventTypeList lists every event, those of the contract first.
type EventTypeList struct {
	Items []EventType `json:"items" doc:"every event, in its newest version" nullable:"false"`
}

type eventTypeInput struct {
	web.IfNoneMatch
	Name    string `path:"name" maxLength:"64" doc:"the event's name" example:"memory.updated"`
	Version int    `query:"version" minimum:"1" maximum:"1000" doc:"the version to show; the newest if absent" format:"int32"`
}

// kinds returns the events to which endpoints can subscribe.
func (d Deps) kinds() event.Table {
	if d.Events != nil {
		return d.Events
	}
	return event.Kinds()
}

func (d Deps) listEventTypes(_ context.Context, in *web.IfNoneMatch) (*web.Tagged[EventTypeList], error) {
	var all []EventType
	for _, k := range d.kinds() {
		described, err := d.described(k, k.Version())
		if err != nil {
			return nil, err
		}
		all = append(all, described)
	}
	return web.RespondContent(*in, EventTypeList{all})
}

func (d Deps) getEventType(_ context.Context, in *eventTypeInput) (*web.Tagged[EventType], error) {
	k, ok := d.kinds().Find(in.Name)
	if !ok {
		return nil, fault.Newf(fault.NotFound, "there is no event %q; list-event-types has the events", in.Name)
	}
	version := cmp.Or(in.Version, k.Version())
	if !k.IsSent(version, d.Now()) {
		return nil, fault.Newf(fault.NotFound, "version %d of %s is not sent; get-event-type without a version shows those that are", version, k.Name)
	}
	described, err := d.described(k, version)
	if err != nil {
		return nil, err
	}
	return web.RespondContent(in.IfNoneMatch, described)
}

// described describes an event in one of its versions.
func (d Deps) described(k event.Kind, version int) (EventType, error) {
	examples, err := exampleEvents()
	if err != nil {
		return EventType{}, err
	}
	example, err := k.In(version, examples[k.Name])
	if err != nil {
		return EventType{}, err
	}
	t := EventType{Name: k.Name, Version: version, Category: event.Category(k.Name), Description: "Sent when " + k.About + "."}
	if t.Example, err = example.Payload(); err != nil {
		return EventType{}, err
	}
	if t.Schema, err = d.schemas.of(k, version); err != nil {
		return EventType{}, fmt.Errorf("schema of %s: %w", k.Name, err)
	}
	for n := k.Version(); n > 0 && k.IsSent(n, d.Now()); n-- {
		t.Versions = append(t.Versions, EventVersion{Version: n})
		if n < k.Version() {
			t.Versions[len(t.Versions)-1].EndsAt = k.Former[n-1].Ends
		}
	}
	return t, nil
}

// schemas keeps the schemas of payloads, which follow from the code alone. The first request for one computes it.
type schemas struct {
	mu   sync.Mutex
	kept map[string]json.RawMessage // by event and version
}

func (s *schemas) of(k event.Kind, version int) (json.RawMessage, error) {
	key := fmt.Sprint(k.Name, " ", version)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.kept[key]; known != nil {
		return known, nil
	}
	raw, err := json.Marshal(schemaOf(k, version))
	if err != nil {
		return nil, err
	}
	if s.kept == nil {
		s.kept = map[string]json.RawMessage{}
	}
	s.kept[key] = raw
	return raw, nil
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

// schemaOf returns the schema of an event's payload in a version, from the types that the payload is made of.
func schemaOf(k event.Kind, version int) document {
	const defs = "#/$defs/"
	schemas := huma.NewMapRegistry(defs, huma.DefaultSchemaNamer)
	data := EventData(huma.SchemaFromType(schemas, k.ShownIn(version)))
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
