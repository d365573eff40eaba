package web

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Change holds another value of a member that a PATCH may also remove (RFC 7396).
type Change[T any] struct {
	Sent bool
	To   *T // nil: none
}

// UnmarshalJSON implements json.Unmarshaler. It tells null from an absent member.
func (c *Change[T]) UnmarshalJSON(raw []byte) error {
	c.Sent = true
	return json.Unmarshal(raw, &c.To)
}

// Schema implements huma.SchemaProvider with the value or null.
func (Change[T]) Schema(r huma.Registry) *huma.Schema {
	or := *huma.SchemaFromType(r, reflect.TypeFor[T]())
	or.Nullable = true
	return &or
}
