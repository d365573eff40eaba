package delivery

import "orgops/shared/base/fastjson"

// DecodeHead decodes the head of a stored delivery into the value that head points to. It reads neither the attempts nor the payload.
func DecodeHead(body []byte, head any) error {
	return decode(body, map[string]any{"head": head}, head)
}

// DecodeLog decodes the head and the attempts of a stored delivery. It does not read the payload.
func DecodeLog(body []byte, head, attempts any) error {
	return decode(body, map[string]any{"head": head, "log": attempts}, head, attempts)
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Delivery) UnmarshalJSON(body []byte) error {
	return decode(body, map[string]any{"head": &d.Head, "log": &d.Attempts, "payload": &d.Payload}, &d.Head, &d.Attempts)
}

// decode decodes members of a stored delivery. A delivery of release 0.1.0 has no member for the head: the members of the head stand
// next to the others.
func decode(body []byte, members map[string]any, head any, attempts ...any) error {
	if err := fastjson.UnmarshalMembers(body, members); err != nil || members["head"] == nil {
		return err
	}
	for _, former := range attempts {
		if err := fastjson.UnmarshalMembers(body, map[string]any{"attempts": former}); err != nil {
			return err
		}
	}
	return fastjson.Unmarshal(body, head)
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
