package connector

import (
	"encoding/json"
	"fmt"

	"orgops/shared/base/fault"
)

// TablesProperty is the field "tables" of the schema of a provider that sends webhooks. A mapping reads it, such as
// .config.tables.kinds[.item.kind]; the connector does not.
const TablesProperty = `"tables": {
      "title": "Tables",
      "description": "Values that a mapping looks up by a name of the provider's, such as {\"kinds\": {\"incident\": \"outage\"}}, which a mapping reads as .config.tables.kinds[.item.kind]. At most 16 KiB.",
      "type": "object", "maxProperties": 20,
      "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]{0,39}$", "x-pattern-description": "a name of at most 40 letters, digits and underscores"},
      "additionalProperties": {"type": "object", "maxProperties": 500, "additionalProperties": {"type": "string", "maxLength": 1024}},
      "x-certified": false, "x-widens": false
    }`

// MaxTables limits the tables of a configuration, in bytes. Every arrival reads the configuration.
const MaxTables = 16 << 10

// CheckTables returns the problem of a configuration request whose tables are too large.
func CheckTables(request json.RawMessage) []fault.FieldError {
	var given struct {
		Tables json.RawMessage `json:"tables"`
	}
	if json.Unmarshal(request, &given) != nil || len(given.Tables) <= MaxTables {
		return nil
	}
	return []fault.FieldError{{Pointer: "/tables", Detail: fmt.Sprintf("has %d bytes and may have %d", len(given.Tables), MaxTables)}}
}
