// Package webhook is the generic connector: an endpoint that is sent events and may, with the same Standard Webhooks
// signature, ask for actions.
package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"orgops/shared/connector"
	"orgops/shared/event"
	"orgops/shared/fault"
	"orgops/shared/integration"
	"orgops/shared/outbound"
	standard "orgops/shared/webhook"
)

// Kind is the connector's name.
const Kind = "webhook"

// Config is a stored configuration.
type Config struct {
	URL         string            `json:"url"`
	Events      []string          `json:"events"` // patterns: see event.Matches
	Description string            `json:"description,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	RateLimit   int               `json:"rateLimit,omitempty"` // attempts a second; 0: no limit
}

// Connector implements connector.Inbound.
type Connector struct {
	client *outbound.Client
	schema json.RawMessage
}

// New is the connector; the client's rules decide which URLs it takes.
func New(client *outbound.Client) *Connector {
	patterns := `"` + strings.Join(event.Patterns(), `", "`) + `"`
	return &Connector{client: client, schema: json.RawMessage(fmt.Sprintf(schemaFormat, patterns))}
}

// Kind implements connector.Connector.
func (*Connector) Kind() string { return Kind }

// Schema implements connector.Connector.
func (c *Connector) Schema() json.RawMessage { return c.schema }

// Ports implements connector.Connector: every configuration may use all that a webhook can.
func (*Connector) Ports(json.RawMessage) []integration.Port {
	return []integration.Port{
		integration.EventDeliver, integration.InboundReceive, integration.MemoryUpsert, integration.GoalUpdate,
		integration.TimelineNote,
	}
}

// CheckConfig implements connector.Checker.
func (c *Connector) CheckConfig(raw json.RawMessage) []fault.Problem {
	var config struct {
		Config
		SigningSecret *string `json:"signingSecret"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		return []fault.Problem{{Pointer: "", Detail: "must be one JSON object"}}
	}
	problems := c.client.CheckURL("/url", config.URL)
	if config.SigningSecret != nil {
		if err := standard.CheckSecret(*config.SigningSecret); err != nil {
			problems = append(problems, fault.Problem{Pointer: "/signingSecret", Detail: "needs whsec_ and then the base64 of 24 to 64 bytes"})
		}
	}
	return append(problems, checkHeaders(config.Headers)...)
}

func checkHeaders(headers map[string]string) []fault.Problem {
	names := make([]string, 0, len(headers))
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
	var problems []fault.Problem
	seen := map[string]bool{}
	for _, name := range names {
		canonical := http.CanonicalHeaderKey(name)
		detail := headerProblem(canonical)
		if seen[canonical] {
			detail = "is there twice, in different spellings"
		}
		seen[canonical] = true
		if detail != "" {
			problems = append(problems, fault.Problem{Pointer: connector.Pointer("headers", name), Detail: detail})
		}
	}
	return problems
}

// headerProblem says why a header may not be configured, if so.
func headerProblem(canonical string) string {
	switch canonical {
	case "Host", "Content-Length", "Content-Type", "Content-Encoding", "User-Agent", "Accept-Encoding", "Expect", "Idempotency-Key":
		return "is set by the sender"
	case "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return "belongs to one hop, not to the request (RFC 9110 §7.6.1)"
	case "Authorization", "Cookie":
		return "would be readable in the configuration; verify the signature instead"
	}
	if strings.HasPrefix(canonical, "Webhook-") {
		return "names beginning with webhook- are the signature's"
	}
	if strings.HasPrefix(canonical, "Proxy-") {
		return "belongs to one hop, not to the request (RFC 9110 §7.6.1)"
	}
	return ""
}

// Verify implements connector.Inbound, with the signature of Standard Webhooks.
func (*Connector) Verify(secrets []string, header http.Header, body []byte, now time.Time) (string, error) {
	return standard.Verify(secrets, header, body, now)
}

// Sign implements connector.Inbound. A secret that is none, which CheckConfig lets nobody store, signs nothing.
func (*Connector) Sign(secret, deliveryID string, body []byte, now time.Time) http.Header {
	signer, err := standard.NewSigner([]string{secret})
	if err != nil {
		return http.Header{}
	}
	header := signer.Headers(deliveryID, body, now)
	header.Set("Content-Type", "application/json")
	return header
}
