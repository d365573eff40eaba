// Package rehearsal tries a manifest: it checks the manifest, fetches a few pages by it, and tells the requests and what the records
// become. It stores nothing. The command orgops connector test and the operation test-connector show what it tells.
package rehearsal

import (
	"encoding/json"
	"errors"
	"strconv"

	"orgops/shared/base/fastjson"
	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/manifest"
	"orgops/shared/provider/mapping"
)

// Check lists what in a document does not meet a JSON Schema, as web.CheckBody does.
type Check func(schema, document json.RawMessage) ([]fault.FieldError, error)

// Read reads a manifest and checks all of it: its schema, the rules between its parts, and the expressions of its mappings. It returns an
// error with every problem at once, each with its place. If the schema has problems, it tells those alone.
func Read(raw json.RawMessage, check Check) (*manifest.Manifest, error) {
	if len(raw) > manifest.MaxSize {
		return nil, fault.Newf(fault.TooLarge, "a manifest has at most %d bytes", manifest.MaxSize)
	}
	raw = fastjson.Whole(connector.Page(raw))
	problems, err := check(manifest.Schema(), raw)
	if err := errors.Join(err, fault.Refuse(problems)); err != nil {
		return nil, err
	}
	m, err := manifest.Parse(raw)
	var f *fault.Error
	switch {
	case err == nil:
	case errors.As(err, &f) && f.Kind == fault.Invalid:
		problems = f.Problems
	default:
		return nil, err
	}
	wrong, err := mappings(raw)
	if err != nil {
		return nil, err
	}
	return m, fault.Refuse(append(problems, wrong...))
}

// mappings lists the problems of the streams' mappings.
func mappings(raw json.RawMessage) (problems []fault.FieldError, err error) {
	var d manifest.Document
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	for n, s := range d.Streams {
		if s.Mapping == nil {
			continue
		}
		_, err := mapping.Parse(s.Mapping)
		var f *fault.Error
		if err != nil && (!errors.As(err, &f) || len(f.Problems) == 0) {
			return nil, err
		}
		if f == nil {
			continue
		}
		problems = append(problems, fault.Below(fault.Pointer("streams", strconv.Itoa(n), "mapping"), f.Problems)...)
	}
	return problems, nil
}
