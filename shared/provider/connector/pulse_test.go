package connector_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// pulse connects a status page: each incident becomes a memory. It is the sample of README.md: a whole source, with a
// credential, pages, validators, rate limits and refusals.
type pulse struct {
	client *outbound.Client
	now    func() time.Time
}

const (
	pulseTimeout = 30 * time.Second
	maxPulse     = 4 << 20
)

func (*pulse) Kind() string { return "pulse" }

func (*pulse) Schema() json.RawMessage {
	return json.RawMessage(`{
  "title": "Pulse status page", "description": "A status page. Each incident becomes a memory.",
  "type": "object", "additionalProperties": false, "required": ["url"],
  "properties": {
    "url": {"title": "URL", "description": "Address of the list of incidents.", "type": "string", "format": "uri", "maxLength": 2048},
    ` + connector.ScheduleProperty + `
  },
  "examples": [{"url": "https://status.example.com/api/incidents"}]
}`)
}

func (*pulse) CredentialSchema() json.RawMessage {
	return json.RawMessage(`{
  "title": "Pulse credentials", "description": "What fetches the incidents.", "type": "object", "additionalProperties": false, "required": ["token"],
  "properties": {"token": {"title": "Token", "description": "A token that may read.", "type": "string", "minLength": 1, "writeOnly": true}}
}`)
}

func (*pulse) Ports(json.RawMessage) []integration.Port {
	return []integration.Port{integration.SyncPull, integration.MemoryUpsert}
}

func (*pulse) NeededCredentials(json.RawMessage) []string { return []string{"token"} }

func (*pulse) Lists(json.RawMessage) connector.Listed {
	return connector.Listed{Kinds: []string{"incident"}}
}

func (p *pulse) CheckConfig(config json.RawMessage) []fault.FieldError {
	return p.client.CheckURL("/url", pulseAddress(config))
}

// pulseAddress returns the configured address; the schema has checked the configuration.
func (*pulse) Address(config json.RawMessage) string { return pulseAddress(config) }

func pulseAddress(config json.RawMessage) string {
	var c struct{ URL string }
	_ = json.Unmarshal(config, &c) // without an address CheckURL refuses it
	return c.URL
}

// incidents is one page of the provider's list.
type incidents struct {
	Incidents []struct {
		ID        string     `json:"id"`
		Name      string     `json:"name"`
		Link      string     `json:"link"`
		UpdatedAt *time.Time `json:"updated_at"`
	} `json:"incidents"`
	Cursor string `json:"cursor"` // of the next page
}

// Fetch gets one page. Its checkpoint is the provider's cursor.
func (p *pulse) Fetch(ctx context.Context, f connector.Fetch) (page connector.FetchedPage, err error) {
	ctx, cancel := context.WithTimeout(ctx, pulseTimeout)
	defer cancel()
	address := pulseAddress(f.Config)
	if len(f.Checkpoint) > 0 {
		var cursor string
		if err := json.Unmarshal(f.Checkpoint, &cursor); err != nil {
			return page, err
		}
		address += "?cursor=" + url.QueryEscape(cursor)
	}
	got, err := p.get(ctx, address, f.Credentials["token"])
	if err != nil {
		return page, err
	}
	for _, i := range got.Incidents {
		page.Incomplete = page.Incomplete || i.ID == "" // a run that cannot tell what is there must remove nothing
		page.Memories = append(page.Memories, memory.Draft{ExternalID: i.ID, Kind: "incident", Title: i.Name, URL: i.Link, UpdatedAt: i.UpdatedAt})
	}
	if got.Cursor != "" {
		page.Checkpoint, err = json.Marshal(got.Cursor)
	}
	return page, err
}

// get requests a page, and says by the kind of the error whether a retry can help.
func (p *pulse) get(ctx context.Context, address, token string) (got incidents, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return got, fault.New(fault.Invalid, "the configured url is not a url")
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := p.client.Do(req)
	if err != nil {
		return got, fault.Wrap(fault.Unavailable, "the status page cannot be reached: "+outbound.Explain(err), err)
	}
	defer resp.Body.Close()
	if err := connector.Throttled(resp, p.now()); err != nil {
		return got, err
	}
	switch s := resp.StatusCode; {
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return got, fault.Wrap(fault.Unavailable, "the status page refuses the token; store a valid one", connector.ErrRefused)
	case s != http.StatusOK:
		return got, fault.Newf(fault.Unavailable, "the status page answers %d %s", s, http.StatusText(s))
	}
	body, err := outbound.ReadBody(resp, maxPulse)
	if errors.Is(err, outbound.ErrTooLarge) {
		return got, fault.New(fault.Unavailable, "the list of incidents is larger than 4 MiB")
	}
	if err != nil || json.Unmarshal(body, &got) != nil || !strings.HasPrefix(string(body), "{") {
		return got, fault.New(fault.Unavailable, "the list of incidents is not what the page documents, or it was cut off")
	}
	return got, nil
}
