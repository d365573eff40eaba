package acceptance_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
)

// newSecret generates a signing secret in the format of Standard Webhooks.
func newSecret(t *testing.T) string {
	t.Helper()
	b := make([]byte, 32)
	_, err := rand.Read(b)
	errtest.Must(t, err)
	return "whsec_" + base64.StdEncoding.EncodeToString(b)
}

// sign returns the headers of Standard Webhooks 1.0. It does not use the service's code, which it tests.
func sign(t *testing.T, secret, id string, body []byte) http.Header {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	errtest.Must(t, err)
	at := time.Now().Unix()
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.%s", id, at, body)
	return http.Header{
		"Webhook-Id": {id}, "Webhook-Timestamp": {fmt.Sprint(at)},
		"Webhook-Signature": {"v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}
}

// ticket returns the body of an inbound arrival that asks for one memory.
func ticket(n int) []byte {
	return fmt.Appendf(nil, `{"type":"memory.upsert","data":{"externalId":"ticket-%d","kind":"ticket","title":"Ticket %d"}}`, n, n)
}

// subscribe registers a webhook endpoint and certifies it.
func (tn *tenant) subscribe(provider, url, secret string, events ...string) {
	tn.t.Helper()
	tn.register(provider, url, secret, events...)
	tn.certify(provider)
}

// register registers an endpoint and leaves it in the sandbox.
func (tn *tenant) register(provider, url, secret string, events ...string) {
	tn.t.Helper()
	tn.do("POST", tn.at("/integrations/"+provider), map[string]any{"url": url, "events": events, "signingSecret": secret}).want(201)
}

// certify runs a certification that must pass.
func (tn *tenant) certify(provider string) *answer {
	tn.t.Helper()
	var report struct{ State string }
	a := tn.do("POST", tn.at("/integrations/"+provider+"/certification"), nil).want(200).json(&report)
	if report.State != "certified" {
		tn.t.Fatalf("%s was not certified: %s", provider, a.body)
	}
	return a
}

// receipt holds the answer to an inbound arrival.
type receipt struct {
	Duplicate, Sandboxed bool
	Effect               string // "none" if the delivery took no effect
	Results              []struct{ Action, Verdict, Outcome, Subject, DecisionID string }
}

// post sends a signed inbound arrival to the provider webhook.
func (tn *tenant) post(secret, id string, body []byte) receipt {
	tn.t.Helper()
	var r receipt
	a, err := tn.send("POST", "/inbound/"+tn.ID+"/webhook", body, sign(tn.t, secret, id, body))
	errtest.Must(tn.t, err)
	a.want(202).json(&r)
	return r
}
