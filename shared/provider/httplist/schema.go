package httplist

import "orgops/shared/provider/connector"

const credentialSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "HTTP credentials",
  "description": "What the configured authentication needs: a token for bearer and header, a user name and a password for basic.",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "token": {
      "title": "Token", "description": "The token, or the value of the header.",
      "type": "string", "minLength": 1, "maxLength": 4096, "pattern": "^[!-~]([ -~]*[!-~])?$", "x-pattern-description": "printable ASCII characters, without a space at either end", "writeOnly": true
    },
    "username": {
      "title": "User name", "description": "The user name, without a colon.",
      "type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[^:\\x00-\\x1f]+$", "x-pattern-description": "a name without colons and control characters", "writeOnly": true
    },
    "password": {
      "title": "Password", "description": "The password.",
      "type": "string", "minLength": 1, "maxLength": 1024, "pattern": "^[^\\x00-\\x1f]+$", "x-pattern-description": "a text without control characters", "writeOnly": true
    }
  }
}`

const (
	pointer  = `"type": "string", "maxLength": 256, "pattern": "^(/([^~]|~0|~1)*)?$", "x-pattern-description": "empty, or a JSON Pointer, such as /data/items"`
	nonEmpty = `"type": "string", "maxLength": 256, "pattern": "^/([^~]|~0|~1)*$", "x-pattern-description": "a JSON Pointer, such as /id"`
)

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "HTTP list",
  "description": "A list of JSON objects behind a URL. Each becomes a memory or a goal. Paths are JSON Pointers (RFC 6901).",
  "type": "object",
  "additionalProperties": false,
  "required": ["url", "itemsPath", "idPath", "titlePath", "target"],
  "properties": {
    "url": {
      "title": "URL", "description": "Address of the first page. It must be https and public, and must not redirect. A page may have at most 8 MiB and 1,000 objects.",
      "type": "string", "format": "uri", "minLength": 1, "maxLength": 2048
    },
    "itemsPath": {"title": "List", "description": "Where the list is in the document; empty if the document is the list.", "default": "", ` + pointer + `},
    "idPath": {"title": "Id", "description": "Where an object's id is, a string or a number. It must not change.", ` + nonEmpty + `},
    "titlePath": {"title": "Title", "description": "Where an object's title is.", ` + nonEmpty + `},
    "bodyPath": {"title": "Text", "description": "Where an object's text is: a memory's body, a goal's target.", ` + nonEmpty + `},
    "linkPath": {"title": "Link", "description": "Where the address of an object's web page is.", ` + nonEmpty + `},
    "updatedAtPath": {"title": "Time of change", "description": "Where the time of an object's last change is: in RFC 3339, as an HTTP date, or as a number of seconds or milliseconds since 1970. Without a zone it is in UTC. An older state changes nothing.", ` + nonEmpty + `},
    "progressPath": {"title": "Progress", "description": "Where a goal's progress is, a number from 0 to 1, or a text such as 75%. At 1 the goal is closed.", ` + nonEmpty + `},
    "dueAtPath": {"title": "Due date", "description": "Where a goal's due date is, in a form of the time of change.", ` + nonEmpty + `},
    "target": {"title": "Target", "description": "What an object becomes.", "type": "string", "enum": ["memory", "goal"]},
    "auth": {"title": "Authentication", "description": "How requests carry the stored credentials; absent for none.", "type": "string", "enum": ["bearer", "basic", "header"]},
    "header": {
      "title": "Header", "description": "Name of the header that carries the token, for the authentication header.",
      "type": "string", "maxLength": 64, "pattern": "^[A-Za-z][A-Za-z0-9-]*$", "x-pattern-description": "the name of a header: a letter, and then letters, digits and -"
    },
    "paging": {
      "title": "Paging", "description": "How the next page is found: by the Link header (RFC 8288), by a cursor in the document, or by an offset that counts the objects so far. Absent: link. The first full sync that misses an object removes it if the paging is cursor, or link with one page; otherwise the second one does.",
      "type": "string", "enum": ["link", "cursor", "offset"]
    },
    "cursorPath": {"title": "Cursor", "description": "Where the next page's cursor is in the document, or the whole address of the next page. Absent, null, false, 0 or empty on the last page.", ` + nonEmpty + `},
    "parameter": {
      "title": "Parameter", "description": "Query parameter that carries the cursor or the offset.",
      "type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9_.~-]+$", "x-pattern-description": "letters, digits and any of _ . ~ -"
    },
    ` + connector.ScheduleProperty + `
  },
  "examples": [
    {"url": "https://api.example.com/v1/tickets?limit=100", "itemsPath": "/data", "idPath": "/id", "titlePath": "/subject", "bodyPath": "/description", "updatedAtPath": "/updated_at", "target": "memory", "auth": "bearer", "paging": "cursor", "cursorPath": "/next", "parameter": "cursor", "schedule": "1h"},
    {"url": "https://api.example.com/okrs", "itemsPath": "", "idPath": "/key", "titlePath": "/name", "progressPath": "/done", "dueAtPath": "/due", "target": "goal"}
  ]
}`
