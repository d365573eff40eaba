package webhook

// schemaFormat is the configuration's schema; %s is the event patterns, quoted and separated by commas.
const schemaFormat = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Webhook endpoint",
  "description": "An endpoint that is sent events, signed as Standard Webhooks 1.0 describes, and that may ask for actions with the same signature.",
  "type": "object",
  "additionalProperties": false,
  "required": ["url", "events"],
  "properties": {
    "url": {
      "title": "URL",
      "description": "Where events are posted: https, on a public address.",
      "type": "string", "format": "uri", "minLength": 1, "maxLength": 2048
    },
    "events": {
      "title": "Events",
      "description": "What is sent: events by name, or a category such as memory.*",
      "type": "array", "minItems": 1, "maxItems": 20, "uniqueItems": true,
      "items": {"type": "string", "enum": [%s]},
      "x-certified": false
    },
    "description": {
      "title": "Description",
      "description": "What the endpoint is for, in words.",
      "type": "string", "maxLength": 500,
      "x-certified": false
    },
    "signingSecret": {
      "title": "Signing secret",
      "description": "whsec_ and the base64 of 24 to 64 bytes. One is made where none is given; it is shown once.",
      "type": "string", "minLength": 38, "maxLength": 94, "pattern": "^whsec_[A-Za-z0-9+/]+={0,2}$",
      "writeOnly": true
    },
    "headers": {
      "title": "Headers",
      "description": "Sent with every delivery. They are part of the readable configuration, so no place for a secret.",
      "type": "object", "maxProperties": 20,
      "propertyNames": {"pattern": "^[A-Za-z0-9!#$%%&'*+.^_|~-]{1,64}$"},
      "additionalProperties": {"type": "string", "maxLength": 1024, "pattern": "^[ -~]*$"}
    },
    "rateLimit": {
      "title": "Rate limit",
      "description": "At most so many attempts a second.",
      "type": "integer", "minimum": 1, "maximum": 1000,
      "x-certified": false
    }
  },
  "examples": [
    {"url": "https://example.com/hooks/orgops", "events": ["memory.*", "goal.updated"]},
    {"url": "https://billing.example.com/in", "events": ["integration.sync.completed"], "description": "Billing", "headers": {"X-Team": "billing"}, "rateLimit": 50}
  ]
}`
