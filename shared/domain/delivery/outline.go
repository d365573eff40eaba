package delivery

import (
	"bytes"
	"slices"

	"orgops/shared/base/fastjson"
)

// Most of the time to decode a delivery goes to its payload and its attempts. These functions leave them out for readers that
// need only the other members. They decode all of a text that the service did not write.

// UnmarshalOutline decodes the JSON of a delivery, as fastjson.Unmarshal does, into a value that has no place for the payload and the
// attempts.
func UnmarshalOutline(body []byte, into any) error {
	return unmarshalCut(body, into, madeMember)
}

// UnmarshalLog decodes the JSON of a delivery, as fastjson.Unmarshal does, into a value that has no place for the payload.
func UnmarshalLog(body []byte, into any) error {
	return unmarshalCut(body, into, attemptsMember, madeMember)
}

// StateOf returns the state in the JSON of a delivery. The result is empty if the JSON is not that of a delivery.
func StateOf(body []byte) State {
	var d struct {
		State State `json:"state"`
	}
	if UnmarshalOutline(body, &d) != nil {
		return ""
	}
	return d.State
}

// The beginnings of a delivery's members at which its JSON is cut. No string has them, because JSON escapes its quotes.
const (
	payloadMember  = `,"payload":`
	attemptsMember = `,"attempts":[`
	madeMember     = `,"made":`
)

// unmarshalCut decodes body without what stands between its payload's beginning and the last of the next members.
//
// The payload may have members of the same names. If the last one found is inside of the payload, the rest has a brace too many,
// so it is not valid, and the next name is tried.
func unmarshalCut(body []byte, into any, next ...string) error {
	head, _, found := bytes.Cut(body, []byte(payloadMember))
	if !found || bytes.LastIndexByte(head, '{') != 0 { // the service writes no object before the payload
		return fastjson.Unmarshal(body, into)
	}
	for _, member := range next {
		end := bytes.LastIndex(body, []byte(member))
		if end > len(head) && fastjson.Unmarshal(slices.Concat(head, body[end:]), into) == nil {
			return nil
		}
	}
	return fastjson.Unmarshal(body, into)
}
