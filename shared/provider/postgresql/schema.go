package postgresql

import "orgops/shared/provider/connector"

const credentialSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "PostgreSQL credentials",
  "description": "The password of the configured role. Use a role that can only read.",
  "type": "object",
  "additionalProperties": false,
  "required": ["password"],
  "properties": {
    "password": {
      "title": "Password", "description": "The password of the role.",
      "type": "string", "minLength": 1, "maxLength": 1024, "pattern": "^[^\\x00-\\x1f]+$", "x-pattern-description": "a text without control characters", "writeOnly": true
    }
  }
}`

const column = `"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[^\\x00-\\x1f]+$", "x-pattern-description": "the name of a column of the query, as the server shows it"`

const name = `"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[^\\x00-\\x1f]+$", "x-pattern-description": "a name without control characters"`

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "PostgreSQL database",
  "description": "Rows of a PostgreSQL database. Each becomes a memory or a goal. Every query runs in a read-only transaction and may take 10 seconds.",
  "type": "object",
  "additionalProperties": false,
  "required": ["host", "database", "user", "streams"],
  "properties": {
    "host": {
      "title": "Host", "description": "Name or address of the server. It must be public.",
      "type": "string", "minLength": 1, "maxLength": 253, "pattern": "^[0-9A-Za-z:._-]+$", "x-pattern-description": "the name of a host, such as db.example.com"
    },
    "port": {"title": "Port", "description": "Port of the server.", "type": "integer", "minimum": 1, "maximum": 65535, "default": 5432},
    "database": {"title": "Database", "description": "Name of the database.", ` + name + `},
    "user": {"title": "Role", "description": "Role that may read what the queries name, and nothing else.", ` + name + `},
    "sslmode": {
      "title": "TLS", "description": "verify-full, the default, checks the server's certificate and name. require encrypts without that check, unless caCertificate is given, and demands SCRAM authentication. disable is only for addresses that the operator of the service allows.",
      "type": "string", "enum": ["verify-full", "require", "disable"], "default": "verify-full"
    },
    "caCertificate": {
      "title": "CA certificate", "description": "Authorities, in PEM, that the server's certificate must come from. Absent: the public ones.",
      "type": "string", "minLength": 1, "maxLength": 32768
    },
    "streams": {
      "title": "Streams", "description": "The queries, which are read in order. A row of the stream customers with the id 7 becomes customers/7.",
      "type": "array", "minItems": 1, "maxItems": 10,
      "items": {
        "type": "object",
        "additionalProperties": false,
        "required": ["name", "query", "idColumn", "titleColumn", "target"],
        "properties": {
          "name": {"title": "Name", "description": "Tells the rows of the streams apart, so it must not change.", "type": "string", "pattern": "^[a-z][a-z0-9-]{0,31}$", "x-pattern-description": "a small letter, and then small letters, digits and -"},
          "query": {"title": "Query", "description": "One SELECT, without a semicolon. It is read in pages of 500 rows in the order of idColumn, so an index on that column helps.", "type": "string", "minLength": 1, "maxLength": 8192},
          "target": {"title": "Target", "description": "What a row becomes.", "type": "string", "enum": ["memory", "goal"]},
          "idColumn": {"title": "Id", "description": "Column that tells rows apart. Its value must not change.", ` + column + `},
          "titleColumn": {"title": "Title", "description": "Column with the title.", ` + column + `},
          "bodyColumn": {"title": "Text", "description": "Column with the text: a memory's body, a goal's target. JSON and arrays are shown as JSON, bytea in hexadecimal digits.", ` + column + `},
          "linkColumn": {"title": "Link", "description": "Column with the address of the row's web page.", ` + column + `},
          "updatedAtColumn": {"title": "Time of change", "description": "Column with the time of the row's last change. Without a zone it is in UTC. An older state changes nothing.", ` + column + `},
          "progressColumn": {"title": "Progress", "description": "Column with a goal's progress, from 0 to 1. At 1 the goal is closed.", ` + column + `},
          "dueAtColumn": {"title": "Due date", "description": "Column with a goal's due date.", ` + column + `},
          "currentColumn": {"title": "Current value", "description": "Column with the number that measures a goal, with at most 9 digits after the point.", ` + column + `},
          "targetColumn": {"title": "Target value", "description": "Column with the number that reaches the goal.", ` + column + `},
          "unit": {"title": "Unit", "description": "What the numbers count.", "type": "string", "minLength": 1, "maxLength": 16},
          "direction": {"title": "Direction", "description": "up, the default: the number must grow to the target; down: it must fall to it.", "type": "string", "enum": ["up", "down"]}
        }
      }
    },
    ` + connector.ScheduleProperty + `
  },
  "examples": [
    {"host": "db.example.com", "database": "app", "user": "orgops_reader", "streams": [{"name": "customers", "query": "SELECT id, name, plan, updated_at FROM customers", "target": "memory", "idColumn": "id", "titleColumn": "name", "bodyColumn": "plan", "updatedAtColumn": "updated_at"}], "schedule": "1h"},
    {"host": "db.example.com", "database": "app", "user": "orgops_reader", "streams": [{"name": "revenue", "query": "SELECT 'mrr' AS id, 'MRR' AS title, round(sum(amount), 2) AS amount, 50000 AS target FROM subscriptions WHERE active", "target": "goal", "idColumn": "id", "titleColumn": "title", "currentColumn": "amount", "targetColumn": "target", "unit": "EUR"}]}
  ]
}`
