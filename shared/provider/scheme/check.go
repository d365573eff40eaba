package scheme

import (
	"slices"
	"strings"

	"orgops/shared/base/fault"
)

// Check lists what is wrong with a scheme that a company describes, beyond what Schema states. at is the pointer of the description.
func (s Scheme) Check(at string) (problems []fault.FieldError) {
	refuse := func(field, detail string) {
		problems = append(problems, fault.FieldError{Pointer: at + "/" + field, Detail: detail})
	}
	if !s.has("body") {
		refuse("signed", "must contain {body}, because a signature that does not cover the body proves nothing")
	}
	for _, place := range places(s.Signed) {
		if !slices.Contains([]string{"body", "time", "id", "method", "url"}, place) {
			refuse("signed", "the places are {body}, {time}, {id}, {method} and {url}")
			break
		}
	}
	if strings.Contains(s.Signed, "}{") {
		refuse("signed", "needs a text between two places, so that no part of one can pass for a part of the other")
	}
	if s.has("time") != (s.Time != nil) {
		refuse("signed", "needs {time} if, and only if, time says where it is sent")
	}
	if s.has("id") != (s.ID != "") {
		refuse("signed", "needs {id} if, and only if, id names its header")
	}
	if t := s.Time; t != nil && (t.Header == "") == (t.Field == "") {
		refuse("time", "needs header or field, and not both")
	}
	if t := s.Time; t != nil && t.Field != "" && s.Field == "" {
		refuse("field", "is needed, because the time is in a field of the header")
	}
	return problems
}

// has reports whether a place is signed.
func (s Scheme) has(place string) bool { return strings.Contains(s.Signed, "{"+place+"}") }

// places lists what stands in braces.
func places(template string) (names []string) {
	for _, part := range strings.Split(template, "{")[1:] {
		name, _, _ := strings.Cut(part, "}")
		names = append(names, name)
	}
	return names
}

// Schema is the JSON Schema of the description of a scheme.
const Schema = `{
  "title": "Signature", "description": "How the sender signs, if scheme has no name for it.",
  "type": "object", "additionalProperties": false, "required": ["header", "algorithm", "encoding", "signed"],
  "properties": {
    "header": {"title": "Header", "description": "The header that holds the signature.", ` + headerName + `},
    "algorithm": {"title": "Algorithm", "description": "The HMAC's hash. hmac-sha1 is for senders that have no other.", "type": "string", "enum": ["hmac-sha256", "hmac-sha512", "hmac-sha1"]},
    "encoding": {"title": "Encoding", "description": "The form of a signature.", "type": "string", "enum": ["hex", "base64"]},
    "signed": {"title": "What is signed", "description": "A text with places: {body}, {time}, {id} (see id), {method} and {url} (the whole address).", "type": "string", "minLength": 6, "maxLength": 128},
    "prefix": {"title": "Prefix", "description": "What stands before each signature, such as sha256=.", "type": "string", "maxLength": 16},
    "field": {"title": "Field", "description": "The field of the signature, if the header lists fields, such as t=1771840800,v1=5257a8….", "type": "string", "minLength": 1, "maxLength": 32},
    "separator": {"title": "Separator", "description": "What separates signatures or fields. Absent: a comma.", "type": "string", "enum": [",", ";", " "]},
    "key": {"title": "Form of the secret", "description": "How the key is made of the secret. Absent: the secret's text is the key.", "type": "string", "enum": ["base64", "hex", "whsec"]},
    "id": {"title": "Header of the id", "description": "The header of the arrival's id, if it is signed.", ` + headerName + `},
    "time": {
      "title": "Time", "description": "Where the time of sending stands, if it is signed.",
      "type": "object", "additionalProperties": false, "required": ["unit", "tolerance"],
      "properties": {
        "header": {"title": "Header", "description": "The header of the time.", ` + headerName + `},
        "field": {"title": "Field", "description": "The field of the time in the signature's header.", "type": "string", "minLength": 1, "maxLength": 32},
        "unit": {"title": "Unit", "description": "Seconds or milliseconds since 1970, or a time of RFC 3339.", "type": "string", "enum": ["s", "ms", "rfc3339"]},
        "tolerance": {"title": "Tolerance", "description": "How many seconds the time may be before or after the current time.", "type": "integer", "minimum": 1, "maximum": 600}
      }
    }
  }
}`

const headerName = `"type": "string", "pattern": "^[A-Za-z0-9!#$%&'*+.^_|~-]{1,64}$", "x-pattern-description": "the name of a header: 1 to 64 letters, digits and signs such as -"`
