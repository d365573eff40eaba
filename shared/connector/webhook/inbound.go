package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"orgops/shared/connector"
	"orgops/shared/fault"
	"orgops/shared/goal"
	"orgops/shared/integration"
	"orgops/shared/memory"
)

// delivery is what is posted in: the type names a port, data is one draft of it or a list of at most connector.MaxActions.
// Further members are passed over, so that a sender may add what Standard Webhooks recommends.
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
// Data holds the fields of memory.Draft, goal.Draft or connector.NoteDraft. A body that is not a JSON object is
// fault.Malformed; everything else that is wrong is fault.Invalid, every problem at once.
func (*Connector) Map(_ json.RawMessage, _ http.Header, body []byte) ([]connector.Action, error) {
	var d delivery
	if err := json.Unmarshal(body, &d); err != nil {
		if problem, ok := wrongType(err, ""); ok {
			return nil, fault.Refuse([]fault.Problem{problem})
		}
		return nil, fault.New(fault.Malformed, "the body must be one JSON object with type and data")
	}
	port := integration.Port(d.Type)
	switch port {
	case integration.MemoryUpsert:
		return mapDrafts(d.Data, func(at string, m *memory.Draft) (connector.Action, []fault.Problem) {
			return connector.Action{Port: port, Memory: m}, m.Check(at)
		})
	case integration.GoalUpdate:
		return mapDrafts(d.Data, func(at string, g *goal.Draft) (connector.Action, []fault.Problem) {
			return connector.Action{Port: port, Goal: g}, g.Check(at)
		})
	case integration.TimelineNote:
		return mapDrafts(d.Data, func(at string, n *connector.NoteDraft) (connector.Action, []fault.Problem) {
			return connector.Action{Port: port, Note: n}, n.Check(at)
		})
	}
	return nil, fault.Refuse([]fault.Problem{{Pointer: "/type", Detail: "must be memory.upsert, goal.update or timeline.note"}})
}

// mapDrafts decodes data, one draft or a list, and makes an action of each.
func mapDrafts[T any](data json.RawMessage, action func(at string, draft *T) (connector.Action, []fault.Problem)) ([]connector.Action, error) {
	items, at, err := split(data)
	if err != nil {
		return nil, err
	}
	actions := make([]connector.Action, 0, len(items))
	var problems []fault.Problem
	for i, item := range items {
		here := at(i)
		draft := new(T)
		if err := json.Unmarshal(item, draft); err != nil {
			problem, ok := wrongType(err, here)
			if !ok {
				problem = fault.Problem{Pointer: here, Detail: "holds a value that cannot be read, such as a time that is not RFC 3339"}
			}
			problems = append(problems, problem)
			continue
		}
		a, wrong := action(here, draft)
		actions, problems = append(actions, a), append(problems, wrong...)
	}
	if len(problems) > 0 {
		return nil, fault.Refuse(problems)
	}
	return actions, nil
}

// split is the drafts in data, and the pointer of each.
func split(data json.RawMessage) (items []json.RawMessage, at func(int) string, err error) {
	data = bytes.TrimLeft(data, " \t\r\n")
	switch {
	case bytes.HasPrefix(data, []byte("{")):
		return []json.RawMessage{data}, func(int) string { return "/data" }, nil
	case !bytes.HasPrefix(data, []byte("[")):
		return nil, nil, fault.Refuse([]fault.Problem{{Pointer: "/data", Detail: "must be an object, or a list of them"}})
	}
	if err := json.Unmarshal(data, &items); err != nil {
		return nil, nil, fault.New(fault.Malformed, "data is not JSON")
	}
	if len(items) == 0 || len(items) > connector.MaxActions {
		return nil, nil, fault.Refuse([]fault.Problem{{Pointer: "/data", Detail: fmt.Sprintf("a list holds 1 to %d objects", connector.MaxActions)}})
	}
	return items, func(i int) string { return fmt.Sprintf("/data/%d", i) }, nil
}

// wrongType is the problem behind a value of the wrong type; ok is false for any other error.
func wrongType(err error, at string) (p fault.Problem, ok bool) {
	var e *json.UnmarshalTypeError
	if !errors.As(err, &e) {
		return fault.Problem{}, false
	}
	if e.Field != "" {
		at += connector.Pointer(strings.Split(e.Field, ".")...)
	}
	return fault.Problem{Pointer: at, Detail: "must be " + jsonType(e)}, true
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
