// Package genericwebhook connects a webhook endpoint. The endpoint receives events and may request actions with the same
// Standard Webhooks signature.
package genericwebhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/scheme"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/standardwebhooks"
)

// Kind names the connector.
const Kind = "webhook"

// Config holds a stored configuration.
type Config struct {
	URL         string            `json:"url"`
	Events      []string          `json:"events"` // patterns: see event.Matches
	Description string            `json:"description,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	RateLimit   int               `json:"rateLimit,omitempty"` // attempts a second; 0: no limit
	Ordered     bool              `json:"ordered,omitempty"`
	Filter      string            `json:"filter,omitempty"`
	Transform   string            `json:"transform,omitempty"`
	Versions    event.Pins        `json:"eventVersions,omitempty"`
}

// Connector implements connector.Inbound.
type Connector struct {
	client *outbound.Client
	schema json.RawMessage
}

// New makes the connector. The client's rules decide which URLs it accepts.
func New(client *outbound.Client) *Connector {
	patterns := `"` + strings.Join(event.Patterns(), `", "`) + `"`
	return &Connector{client: client, schema: json.RawMessage(fmt.Sprintf(schemaFormat, patterns, MaxSecretHeaders))}
}

// Kind implements connector.Connector.
func (*Connector) Kind() string { return Kind }

// Schema implements connector.Connector.
func (c *Connector) Schema() json.RawMessage { return c.schema }

// Ports implements connector.Connector. Every configuration may use every port of a webhook.
func (*Connector) Ports(json.RawMessage) []integration.Port {
	return []integration.Port{
		integration.EventDeliver, integration.InboundReceive, integration.MemoryUpsert, integration.GoalUpdate,
		integration.TimelineNote,
	}
}

// Address implements connector.Addressed.
func (*Connector) Address(raw json.RawMessage) string {
	var config Config
	_ = json.Unmarshal(raw, &config) // a configuration that was checked is such an object
	return config.URL
}

// CheckConfig implements connector.Checker.
func (c *Connector) CheckConfig(raw json.RawMessage) []fault.FieldError {
	var config struct {
		Config
		SigningSecret *string           `json:"signingSecret"`
		SecretHeaders map[string]string `json:"secretHeaders"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		return []fault.FieldError{{Pointer: "", Detail: "must be one JSON object"}}
	}
	problems := c.client.CheckURL("/url", config.URL)
	if config.SigningSecret != nil {
		if err := standardwebhooks.CheckSecret(*config.SigningSecret); err != nil {
			problems = append(problems, fault.FieldError{Pointer: "/signingSecret", Detail: fault.Explain(err, "").Error()})
		}
	}
	problems = append(problems, checkHeaders("/headers", config.Headers, false)...)
	return append(problems, checkHeaders("/secretHeaders", config.SecretHeaders, true)...)
}

// CredentialSchema implements connector.Credentialed. The credentials of an endpoint are its secret headers.
func (*Connector) CredentialSchema() json.RawMessage {
	return json.RawMessage(fmt.Sprintf(credentialFormat, MaxSecretHeaders))
}

// CheckCredentials implements connector.CredentialChecker.
func (*Connector) CheckCredentials(headers map[string]string) []fault.FieldError {
	return checkHeaders("", headers, true)
}

// checkHeaders lists what is wrong with the names of the headers at a pointer.
func checkHeaders(at string, headers map[string]string, secret bool) []fault.FieldError {
	names := make([]string, 0, len(headers))
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
	var problems []fault.FieldError
	seen := map[string]bool{}
	for _, name := range names {
		canonical := http.CanonicalHeaderKey(name)
		detail := headerProblem(canonical, secret)
		if seen[canonical] {
			detail = "is set twice, in different spellings"
		}
		seen[canonical] = true
		if detail != "" {
			problems = append(problems, fault.FieldError{Pointer: at + fault.Pointer(name), Detail: detail})
		}
	}
	return problems
}

// headerProblem says why a header may not be configured, or returns "".
func headerProblem(canonical string, secret bool) string {
	switch canonical {
	case "Host", "Content-Length", "Content-Type", "Content-Encoding", "User-Agent", "Accept-Encoding", "Expect", "Idempotency-Key":
		return "is set by the service"
	case "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return "belongs to one hop, not to the request (RFC 9110 §7.6.1)"
	case "Authorization", "Cookie":
		if !secret {
			return "would be readable in the configuration; put it into secretHeaders"
		}
	}
	if strings.HasPrefix(canonical, "Webhook-") {
		return "names that begin with webhook- are reserved for the signature"
	}
	if strings.HasPrefix(canonical, "Proxy-") {
		return "belongs to one hop, not to the request (RFC 9110 §7.6.1)"
	}
	return ""
}

// Verify implements connector.Inbound. It checks the signature according to Standard Webhooks.
func (*Connector) Verify(_ json.RawMessage, secrets []string, r scheme.Request, now time.Time) (string, error) {
	return standardwebhooks.Verify(secrets, r.Header, r.Body, now)
}

// Sign implements connector.Inbound. It returns no headers for an invalid secret, which CheckConfig never accepts.
func (*Connector) Sign(_ json.RawMessage, secret, arrivalID string, r scheme.Request, now time.Time) http.Header {
	signer, err := standardwebhooks.NewSigner([]string{secret})
	if err != nil {
		return http.Header{}
	}
	header := signer.Headers(arrivalID, r.Body, now)
	header.Set("Content-Type", "application/json")
	return header
}
