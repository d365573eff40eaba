package fastjson

import (
	"bytes"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// UnmarshalMembers decodes members of the object in body into the values that the map's pointers name, and removes their names from
// the map. It stops after the last one: what follows costs nothing, and is not checked. A body that is not an object has no members.
func UnmarshalMembers(body []byte, members map[string]any) error {
	d, _ := decoders.Get().(*jsontext.Decoder)
	defer release(d)
	d.Reset(bytes.NewBuffer(body), jsonv1.DefaultOptionsV1())
	if d.PeekKind() != '{' {
		return nil
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for len(members) > 0 && d.PeekKind() != '}' {
		if err := member(d, members); err != nil {
			return err
		}
	}
	return nil
}

// decoders keeps decoders, of 5 kB each.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }} //nolint:gochecknoglobals // a pool has no state that a caller could see

// release keeps a decoder without the body that it has read.
func release(d *jsontext.Decoder) {
	d.Reset(new(bytes.Buffer))
	decoders.Put(d)
}

// member decodes or skips the next member.
func member(d *jsontext.Decoder, members map[string]any) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	name := token.String()
	into, wanted := members[name]
	if !wanted {
		return d.SkipValue()
	}
	delete(members, name)
	return json.UnmarshalDecode(d, into)
}
