package worktest

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"orgops/shared/integration"
	"orgops/shared/store"
	"orgops/shared/webhook"
)

// Received is a delivery as it arrived, its signature verified with every live secret.
type Received struct {
	Header    http.Header     `json:"-"`
	Body      []byte          `json:"-"`
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	CompanyID string          `json:"companyId"`
	Data      json.RawMessage `json:"data"`
}

// Receiver is a subscriber. It answers 204 until it is told otherwise.
type Receiver struct {
	b       *Bench
	URL     string
	Secrets []string

	mu     sync.Mutex
	answer http.HandlerFunc
	got    []Received
	came   chan Received
}

// Receive starts a receiver with two live secrets.
func (b *Bench) Receive() *Receiver {
	b.T.Helper()
	r := &Receiver{b: b, Secrets: []string{b.Secret(), b.Secret()}, came: make(chan Received, 10_000)}
	server := httptest.NewServer(r)
	b.T.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// Secret is a fresh signing secret.
func (b *Bench) Secret() string {
	secret, err := webhook.GenerateSecret(rand.Reader)
	Must(b.T, err)
	return secret
}

// Answer makes the receiver answer otherwise. The body has been read and the delivery counted when it is called.
func (r *Receiver) Answer(h http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = h
}

// Status makes the receiver answer with a status.
func (r *Receiver) Status(status int) {
	r.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

// Gate makes the receiver hang until open is called.
func (r *Receiver) Gate() (open func()) {
	gate := make(chan struct{})
	open = sync.OnceFunc(func() { close(gate) })
	r.b.T.Cleanup(open)
	r.Answer(func(w http.ResponseWriter, req *http.Request) {
		select {
		case <-gate:
			w.WriteHeader(http.StatusNoContent)
		case <-req.Context().Done():
		}
	})
	return open
}

func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	for _, secret := range r.Secrets {
		if _, err := webhook.Verify([]string{secret}, req.Header, body, r.b.Clock.Now()); err != nil {
			r.b.T.Errorf("a delivery is not signed with every live secret: %v", err)
		}
	}
	got := Received{Header: req.Header.Clone(), Body: body}
	if err := json.Unmarshal(body, &got); err != nil || got.ID != req.Header.Get(webhook.HeaderID) {
		r.b.T.Errorf("delivery %q under webhook-id %q", body, req.Header.Get(webhook.HeaderID))
	}
	r.mu.Lock()
	r.got = append(r.got, got)
	answer := r.answer
	r.mu.Unlock()
	r.came <- got
	if answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	answer(w, req)
}

// Next waits for the next delivery.
func (r *Receiver) Next() Received {
	r.b.T.Helper()
	select {
	case got := <-r.came:
		return got
	case <-time.After(Patience):
		r.b.T.Fatal("no delivery came")
		return Received{}
	}
}

// All is every delivery so far.
func (r *Receiver) All() []Received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Received{}, r.got...)
}

// Endpoint is how an endpoint is registered.
type Endpoint struct {
	Company, Provider string
	URL               string
	Secrets           []string // none: it has no signing secret
	Events            []string
	RateLimit         int
}

// Subscribe registers the receiver as a company's certified endpoint for some events.
func (b *Bench) Subscribe(company, provider string, r *Receiver, events ...string) integration.Integration {
	b.T.Helper()
	return b.Register(Endpoint{Company: company, Provider: provider, URL: r.URL, Secrets: r.Secrets, Events: events})
}

// Register stores a certified endpoint with its secrets.
func (b *Bench) Register(e Endpoint) integration.Integration {
	b.T.Helper()
	config, err := json.Marshal(map[string]any{"url": e.URL, "events": e.Events, "rateLimit": e.RateLimit})
	Must(b.T, err)
	now := b.Clock.Now()
	i := integration.Integration{
		Provider: e.Provider, Kind: "webhook", State: integration.Certified, Enabled: true, Config: config,
		Permissions: []integration.Port{integration.EventDeliver}, CreatedAt: now, UpdatedAt: now,
		Certification: &integration.Certification{
			PassedAt: now, ExpiresAt: now.Add(integration.CertifiedFor), Ports: []integration.Port{integration.EventDeliver},
		},
	}
	c := b.Company(e.Company)
	ops := []store.Op{c.Create(integration.Key(e.Provider), integration.Entity, i)}
	if len(e.Secrets) > 0 {
		var secrets integration.Secrets
		for _, value := range e.Secrets {
			secrets.Signing = append(secrets.Signing, integration.SigningSecret{Value: value, CreatedAt: now})
		}
		op, err := integration.SaveSecrets(b.T.Context(), c, b.Vault, e.Provider, 0, secrets)
		Must(b.T, err)
		ops = append(ops, op)
	}
	Must(b.T, c.Commit(b.T.Context(), ops...))
	return i
}

// Change edits an integration.
func (b *Bench) Change(company, provider string, edit func(*integration.Integration)) {
	b.T.Helper()
	c := b.Company(company)
	i, version, err := integration.Load(b.T.Context(), c, provider)
	Must(b.T, err)
	edit(&i)
	Must(b.T, c.Commit(b.T.Context(), c.Replace(integration.Key(provider), integration.Entity, version, i)))
}
