package worktest

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/standardwebhooks"
)

// Received holds a delivery as it arrived. The receiver has verified its signature with every live secret.
type Received struct {
	Header    http.Header     `json:"-"`
	Body      []byte          `json:"-"`
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	CompanyID string          `json:"companyId"`
	Data      json.RawMessage `json:"data"`
}

// Receiver receives an endpoint's deliveries. It answers 204 by default.
type Receiver struct {
	h       *Harness
	URL     string
	Secrets []string

	Transformed bool // what it gets has no id in its body

	mu     sync.Mutex
	answer http.HandlerFunc
	got    []Received
	came   chan Received
}

// Receive starts a receiver with two live secrets.
func (h *Harness) Receive() *Receiver {
	h.T.Helper()
	r := &Receiver{h: h, Secrets: []string{h.Secret(), h.Secret()}, came: make(chan Received, 10_000)}
	server := httptest.NewServer(r)
	h.T.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// Secret generates a signing secret.
func (h *Harness) Secret() string {
	secret, err := standardwebhooks.GenerateSecret(rand.Reader)
	errtest.Must(h.T, err)
	return secret
}

// Answer makes the receiver answer with h. When the receiver calls h, it has already read the body and recorded the delivery.
func (r *Receiver) Answer(h http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = h
}

// Status makes the receiver answer with a status.
func (r *Receiver) Status(status int) {
	r.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

// Gate makes the receiver hang until the test calls open.
func (r *Receiver) Gate() (open func()) {
	gate := make(chan struct{})
	open = sync.OnceFunc(func() { close(gate) })
	r.h.T.Cleanup(open)
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
		if _, err := standardwebhooks.Verify([]string{secret}, req.Header, body, r.h.Clock.Now()); err != nil {
			r.h.T.Errorf("delivery not signed with every live secret: %v", err)
		}
	}
	got := Received{Header: req.Header.Clone(), Body: body}
	if err := json.Unmarshal(body, &got); err != nil {
		r.h.T.Errorf("decode the delivery %q: %v", body, err)
	}
	if want := req.Header.Get(standardwebhooks.HeaderID); got.ID != want && !r.Transformed {
		r.h.T.Errorf("id of the delivery %q = %q, want the header's, %q", body, got.ID, want)
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
	r.h.T.Helper()
	select {
	case got := <-r.came:
		return got
	case <-time.After(Patience):
		r.h.T.Fatalf("no delivery within %v", Patience)
		return Received{}
	}
}

// All returns every delivery so far.
func (r *Receiver) All() []Received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Received{}, r.got...)
}

// Endpoint holds the configuration of an endpoint to register.
type Endpoint struct {
	Company, Provider string
	URL               string
	Secrets           []string // empty: no signing secret
	Events            []string
	RateLimit         int
	Ordered           bool
	Incarnation       string
}

// Subscribe registers the receiver as a company's certified endpoint for some events.
func (h *Harness) Subscribe(company, provider string, r *Receiver, events ...string) integration.Integration {
	h.T.Helper()
	return h.Register(Endpoint{Company: company, Provider: provider, URL: r.URL, Secrets: r.Secrets, Events: events})
}

// Register stores a certified endpoint with its secrets.
func (h *Harness) Register(e Endpoint) integration.Integration {
	h.T.Helper()
	config, err := json.Marshal(map[string]any{"url": e.URL, "events": e.Events, "rateLimit": e.RateLimit, "ordered": e.Ordered})
	errtest.Must(h.T, err)
	now := h.Clock.Now()
	i := integration.Integration{
		Provider: e.Provider, Kind: "webhook", Incarnation: e.Incarnation, State: integration.Certified, Enabled: true, Config: config,
		Permissions: []integration.Port{integration.EventDeliver}, CreatedAt: now, UpdatedAt: now,
		Certification: &integration.Certification{
			PassedAt: now, ExpiresAt: now.Add(integration.CertifiedFor), Ports: []integration.Port{integration.EventDeliver},
		},
	}
	c := h.Company(e.Company)
	ops := []store.Op{integration.Create(c, i)}
	if len(e.Secrets) > 0 {
		var secrets integration.Secrets
		for _, value := range e.Secrets {
			secrets.Signing = append(secrets.Signing, integration.SigningSecret{Value: value, CreatedAt: now})
		}
		op, err := integration.SaveSecrets(h.T.Context(), c, h.Vault, i, 0, secrets)
		errtest.Must(h.T, err)
		ops = append(ops, op)
	}
	errtest.Must(h.T, c.Commit(h.T.Context(), ops...))
	return i
}

// Replace deletes an endpoint and registers another one under its name.
func (h *Harness) Replace(e Endpoint) {
	h.T.Helper()
	c := h.Company(e.Company)
	var ops []store.Op
	for key, entity := range map[string]string{
		integration.Key(e.Provider): integration.Entity, integration.CredentialKey(e.Provider): integration.CredentialEntity,
	} {
		item, err := c.Get(h.T.Context(), key, nil)
		errtest.Must(h.T, err)
		ops = append(ops, c.Delete(key, entity, item.Version))
	}
	errtest.Must(h.T, c.Commit(h.T.Context(), ops...))
	h.Register(e)
}

// Change edits an integration.
func (h *Harness) Change(company, provider string, edit func(*integration.Integration)) {
	h.T.Helper()
	c := h.Company(company)
	i, version, err := integration.Load(h.T.Context(), c, provider)
	errtest.Must(h.T, err)
	edit(&i)
	errtest.Must(h.T, c.Commit(h.T.Context(), c.Replace(integration.Key(provider), integration.Entity, version, i)))
}
