package genericwebhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
)

// delivery holds the body of an inbound request. Type names a port; data holds one draft or a list of at most
// connector.MaxActions. Map ignores other members, so a sender may add the members that Standard Webhooks recommends.
type delivery struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// Map implements connector.Inbound:
//
//	{"type": "memory.upsert", "data": {"externalId": "42", "kind": "ticket", "title": "Printer on fire"}}
//	{"type": "goal.update", "data": [{"externalId": "q3", "title": "Ship", "progress": 0.4, "state": "open"}, …]}
//	{"type": "timeline.note", "data": {"title": "Moved office", "subject": "office", "details": {…}}}
//
// Data holds the fields of memory.Draft, goal.Draft or connector.NoteDraft. A body that is not JSON returns
// fault.Malformed. A value of the wrong JSON type, another delivery type, or data that is neither an object nor a list
// returns fault.Invalid.
func (*Connector) Map(_ json.RawMessage, _ http.Header, body []byte) ([]connector.Action, error) {
	var d delivery
	if err := json.Unmarshal(body, &d); err != nil {
		if problem, ok := wrongType(err, ""); ok {
			return nil, fault.Refuse([]fault.FieldError{problem})
		}
		return nil, fault.New(fault.Malformed, "the body must be one JSON object with type and data")
	}
	switch port := integration.Port(d.Type); port {
	case integration.MemoryUpsert:
		return decode(port, d.Data, func(a *connector.Action, m *memory.Draft) { a.Memory = m })
	case integration.GoalUpdate:
		return decode(port, d.Data, func(a *connector.Action, g *goal.Draft) { a.Goal = g })
	case integration.TimelineNote:
		return decode(port, d.Data, func(a *connector.Action, n *connector.NoteDraft) { a.Note = n })
	}
	return nil, fault.Refuse([]fault.FieldError{{Pointer: "/type", Detail: "must be memory.upsert, goal.update or timeline.note"}})
}

// decode makes an action of each draft in data.
func decode[T any](port integration.Port, data json.RawMessage, set func(*connector.Action, *T)) ([]connector.Action, error) {
	items, at, err := split(data)
	if err != nil {
		return nil, err
	}
	actions := make([]connector.Action, len(items))
	for i, item := range items {
		a := &actions[i]
		a.Port, a.At = port, at(i)
		draft := new(T)
		if err := json.Unmarshal(item, draft); err != nil {
			a.Unreadable = unreadable(err, a.At)
		}
		set(a, draft)
	}
	return actions, nil
}

// unreadable describes why a draft cannot be decoded.
func unreadable(err error, at string) *fault.FieldError {
	if p, ok := wrongType(err, at); ok {
		return &p
	}
	return &fault.FieldError{Pointer: at, Detail: "holds a value that cannot be read, such as a time that is not RFC 3339"}
}

// split returns the drafts in data and the pointer of each.
func split(data json.RawMessage) (items []json.RawMessage, at func(int) string, err error) {
	data = bytes.TrimLeft(data, " \t\r\n")
	switch {
	case bytes.HasPrefix(data, []byte("{")):
		return []json.RawMessage{data}, func(int) string { return "/data" }, nil
	case !bytes.HasPrefix(data, []byte("[")):
		return nil, nil, fault.Refuse([]fault.FieldError{{Pointer: "/data", Detail: "must be an object or a list of objects"}})
	}
	if err := json.Unmarshal(data, &items); err != nil {
		return nil, nil, fault.New(fault.Malformed, "data is not JSON")
	}
	if len(items) == 0 || len(items) > connector.MaxActions {
		return nil, nil, fault.Refuse([]fault.FieldError{{Pointer: "/data", Detail: fmt.Sprintf("a list holds 1 to %d objects", connector.MaxActions)}})
	}
	return items, func(i int) string { return fmt.Sprintf("/data/%d", i) }, nil
}

// wrongType describes a value of the wrong JSON type. ok is false for any other error.
func wrongType(err error, at string) (p fault.FieldError, ok bool) {
	var e *json.UnmarshalTypeError
	if !errors.As(err, &e) {
		return fault.FieldError{}, false
	}
	if e.Field != "" {
		at += fault.Pointer(strings.Split(e.Field, ".")...)
	}
	return fault.FieldError{Pointer: at, Detail: "must be " + jsonType(e)}, true
}

func jsonType(e *json.UnmarshalTypeError) string {
	switch e.Type.Kind().String() {
	case "string":
		return "a string"
	case "float64":
		return "a number"
	}
	return "an object"
}

// SampleDelivery implements connector.Inbound.
func (*Connector) SampleDelivery(json.RawMessage) (http.Header, []byte) {
	return http.Header{"Content-Type": {"application/json"}},
		[]byte(`{"type":"memory.upsert","data":{"externalId":"sample-1","kind":"sample","title":"A sample delivery"}}`)
}
