package delivery

import (
	"encoding/json"
	"time"

	"orgops/shared/base/fastjson"
)

// A delivery of release 0.1.0 has no member for its head: the members of the head stand next to the others, and the log has another
// name. The functions below read both forms.

// DecodeHead decodes the head of a stored delivery into the value that head points to. It reads neither the attempts nor the payload.
func DecodeHead(body []byte, head any) error {
	return decode(body, map[string]any{"head": head}, nil, head)
}

// DecodeLog decodes the head and the attempts of a stored delivery. It does not read the payload.
func DecodeLog(body []byte, head, attempts any) error {
	return decode(body, map[string]any{"head": head, "log": attempts}, map[string]any{"attempts": attempts}, head)
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Delivery) UnmarshalJSON(body []byte) error {
	members := map[string]any{"head": &d.Head, "log": &d.Attempts, "payload": &d.Payload}
	return decode(body, members, nil, &flat{&d.Head, &d.EventID, &d.Event, &d.CreatedAt, &d.Attempts, &d.Payload})
}

// decode decodes members, or else those of release 0.1.0: some, and the whole.
func decode(body []byte, members, former map[string]any, whole any) error {
	if err := fastjson.UnmarshalMembers(body, members); err != nil || members["head"] == nil {
		return err
	}
	if err := fastjson.UnmarshalMembers(body, former); err != nil {
		return err
	}
	return fastjson.Unmarshal(body, whole)
}

// flat holds the members of release 0.1.0, and where they belong.
type flat struct {
	*Head
	EventID   *string          `json:"eventId"`
	Event     *string          `json:"event"`
	CreatedAt *time.Time       `json:"createdAt"`
	Attempts  *[]Attempt       `json:"attempts"`
	Payload   *json.RawMessage `json:"payload"`
}

// StateOf returns the state of a stored delivery. The result is empty if body is not a delivery.
func StateOf(body []byte) State {
	var head struct {
		State State `json:"state"`
	}
	if DecodeHead(body, &head) != nil {
		return ""
	}
	return head.State
}
