package genericwebhook

import "orgops/shared/provider/connector"

// MaxSecretHeaders limits the secret headers of an endpoint.
const MaxSecretHeaders = 10

// schemaFormat holds the configuration's schema. %s stands for the event patterns, quoted and separated by commas, and %d for
// MaxSecretHeaders.
const schemaFormat = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Webhook endpoint",
  "description": "An endpoint that receives events, signed according to Standard Webhooks 1.0. It may also request actions, signed in the same way.",
  "type": "object",
  "additionalProperties": false,
  "required": ["url", "events"],
  "properties": {
    "url": {
      "title": "URL",
      "description": "The address to which events are posted. It must be https and public.",
      "type": "string", "format": "uri", "minLength": 1, "maxLength": 2048
    },
    "events": {
      "title": "Events",
      "description": "Events to send, by name or by category, such as memory.*. * is every event, also those that a later release adds. list-event-types has them.",
      "type": "array", "minItems": 1, "maxItems": 50, "uniqueItems": true,
      "items": {"type": "string", "enum": [%s]},
      "x-certified": false
    },
    "description": {
      "title": "Description",
      "description": "A note on the endpoint's purpose.",
      "type": "string", "maxLength": 500,
      "x-certified": false, "x-widens": false
    },
    "signingSecret": {
      "title": "Signing secret",
      "description": "whsec_ and the base64 of 24 to 64 bytes. If the field is missing, the service generates a secret and shows it once.",
      "type": "string", "minLength": 38, "maxLength": 94, "pattern": "^whsec_[A-Za-z0-9+/]+={0,2}$", "x-pattern-description": "whsec_ and then base64",
      "writeOnly": true, "x-widens": false
    },
    "headers": {
      "title": "Headers",
      "description": "Headers of every delivery. The configuration shows them, so put secret ones into secretHeaders.",
      "type": "object", "maxProperties": 20,
      "propertyNames": {"pattern": "^[A-Za-z0-9!#$%%&'*+.^_|~-]{1,64}$", "x-pattern-description": "the name of a header: 1 to 64 letters, digits and signs such as -"},
      "additionalProperties": {"type": "string", "maxLength": 1024, "pattern": "^[ -~]*$", "x-pattern-description": "printable ASCII characters"}
    },
    "secretHeaders": {
      "title": "Secret headers",
      "description": "Headers of every delivery and test whose values are never shown again, such as Authorization. They replace the stored ones; an empty object removes those, and without the field they stay. They go to the origin of the url only: when the url moves to another origin, they end unless they are given again.",
      "type": "object", "maxProperties": %d,
      "propertyNames": {"pattern": "^[A-Za-z0-9!#$%%&'*+.^_|~-]{1,64}$", "x-pattern-description": "the name of a header: 1 to 64 letters, digits and signs such as -"},
      "additionalProperties": {"type": "string", "minLength": 1, "maxLength": 4096, "pattern": "^[!-~]([ -~]*[!-~])?$", "x-pattern-description": "printable ASCII characters, without a space at either end"},
      "writeOnly": true
    },
    ` + connector.TablesProperty + `,
    "rateLimit": {
      "title": "Rate limit",
      "description": "Maximum number of attempts a second.",
      "type": "integer", "minimum": 1, "maximum": 1000,
      "x-certified": false, "x-widens": false
    },
    "filter": {
      "title": "Filter",
      "description": "An expression that gives true for the events to send, and false for the others, such as .data.kind == \"issue\". It reads .type, .timestamp, .data and .previous. An event for which it fails is held. A change applies to later events.",
      "type": "string", "minLength": 1, "maxLength": 2048,
      "x-certified": false
    },
    "transform": {
      "title": "Transformation",
      "description": "An expression that gives the body to send instead of the event, an object or a list, such as {text: .data.title}. It reads what the filter reads, and runs once for each event. An event for which it fails is held.",
      "type": "string", "minLength": 1, "maxLength": 2048
    },
    "eventVersions": {
      "title": "Versions of events",
      "description": "The versions of the payloads to send, by event, such as {\"memory.created\": 1}. Without the field, a new subscription has the newest version of each event, and keeps it when the endpoint is configured again. After a new version, the former one is sent for a year; then the next one follows. get-event-type has the versions.",
      "type": "object", "maxProperties": 50,
      "additionalProperties": {"type": "integer", "minimum": 1, "maximum": 1000},
      "x-certified": false, "x-widens": false
    },
    "ordered": {
      "title": "Ordered",
      "description": "Off by default. If on, the events about one record are sent in the order of its changes. An event then waits until the one before it has arrived or was given up, and each takes about a second longer. It does not wait for an event that is held, while the endpoint is sandboxed or disabled or more than 1,000 wait: a held event comes after those that were sent meanwhile. A change of this setting applies to later events.",
      "type": "boolean",
      "x-certified": false, "x-widens": false
    }
  },
  "examples": [
    {"url": "https://example.com/hooks/orgops", "events": ["memory.*", "goal.updated"]},
    {"url": "https://billing.example.com/in", "events": ["integration.sync.completed"], "description": "Billing", "headers": {"X-Team": "billing"}, "secretHeaders": {"Authorization": "Bearer example"}, "rateLimit": 50}
  ]
}`

// credentialFormat holds the schema of the secret headers as credentials.
const credentialFormat = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Secret headers of a webhook endpoint",
  "description": "Headers of every delivery and test, by name, such as Authorization. They go to the origin of the endpoint's url only.",
  "type": "object", "minProperties": 1, "maxProperties": %d,
  "propertyNames": {"pattern": "^[A-Za-z0-9!#$%%&'*+.^_|~-]{1,64}$"},
  "additionalProperties": {"type": "string", "minLength": 1, "maxLength": 4096, "pattern": "^[!-~]([ -~]*[!-~])?$", "writeOnly": true},
  "examples": [{"Authorization": "Bearer example"}]
}`
