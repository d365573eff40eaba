package acceptance_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/errtest"
)

// TestInboundHealth follows a GitHub integration from its first arrival: it is healthy as soon as an arrival was accepted,
// even if it changed nothing, and what strangers send changes neither its status nor its rate.
func TestInboundHealth(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Inbound")
	const secret = "as typed at github"
	s.Log.KeepOut(secret)
	tn.do("POST", tn.at("/integrations/github"), map[string]any{"repository": "octo/app", "signingSecret": secret}).want(201)
	tn.certify("github")
	send := func(signedWith, body string, status int) {
		t.Helper()
		mac := hmac.New(sha256.New, []byte(signedWith))
		mac.Write([]byte(body))
		a, err := tn.send("POST", "/inbound/"+tn.ID+"/github", []byte(body), http.Header{
			"X-Github-Delivery": {"72d3162e"}, "X-Github-Event": {"issues"}, "X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))},
		})
		errtest.Must(t, err)
		a.want(status)
	}
	type refusal struct {
		Reason   string
		Count24h int
	}
	type health struct {
		Status  string
		Inbound struct {
			SuccessRate24h                         *float64
			Accepted24h, Refused24h, Unverified24h int
			Refusals, Unverified                   []refusal
		}
	}
	read := func() (h health) {
		var i struct{ Health health }
		tn.do("GET", tn.at("/integrations/github"), nil).want(200).json(&i)
		return i.Health
	}
	if got := read().Status; got != "unknown" {
		t.Errorf("status %s before the first delivery, want unknown", got)
	}
	send(secret, `{"action":"labeled_by_nobody","repository":{"full_name":"octo/other"},"issue":{"number":1,"title":"Elsewhere"}}`, 202)
	eventually(t, "a delivery that changes nothing makes it healthy", func() bool { return read().Status == "pass" })
	for n := range 2 {
		send(secret, fmt.Sprintf(`{"action":"opened","repository":{"full_name":"octo/app"},"issue":{"number":%d,"title":"Bug"}}`, n+1), 202)
	}
	for range 4 {
		send("guessed", `{}`, 401)
	}
	eventually(t, "the arrivals are counted", func() bool { return read().Inbound.Accepted24h == 3 })
	var want health
	want.Status = "pass"
	want.Inbound.SuccessRate24h, want.Inbound.Accepted24h, want.Inbound.Unverified24h = new(1.0), 3, 4
	want.Inbound.Refusals, want.Inbound.Unverified = []refusal{}, []refusal{{"the signature does not match", 4}}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("health after forged deliveries (-want +got):\n%s", diff)
	}
	send(secret, `{"repository":{"full_name":"octo/app"}}`, 422)
	want.Status = "fail"
	want.Inbound.SuccessRate24h, want.Inbound.Refused24h, want.Inbound.Refusals = new(0.75), 1, []refusal{{"the mapping refused it", 1}}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("health after a refused delivery (-want +got):\n%s", diff)
	}
	send(secret, `{"action":"opened","repository":{"full_name":"octo/app"},"issue":{"number":9,"title":"Bug"}}`, 202)
	eventually(t, "the next accepted delivery makes it healthy again", func() bool { return read().Status == "pass" })
}
