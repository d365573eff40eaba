package manifest

import (
	_ "embed" // schema.json
	"encoding/json"
)

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of a manifest. It refuses unknown fields.
func Schema() json.RawMessage { return json.RawMessage(schema) }
