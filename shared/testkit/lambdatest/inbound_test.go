package lambdatest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"orgops/shared/domain/memory"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/standardwebhooks"
)

// sampleSecret signs the webhooks in the samples.
const sampleSecret = "a signing secret for samples"

// signed returns an inbound webhook as the gateway passes it on. Without binary media types, the gateway replaces bytes
// that are not UTF-8 by U+FFFD, as encoding/json does here. The sender has signed the text in signs, which may differ from
// body.
func (n *tenant) signed(id, body, signs string) []byte {
	n.t.Helper()
	signer, err := standardwebhooks.NewSigner([]string{signingSecret})
	if err != nil {
		n.t.Fatal(err)
	}
	var e events.APIGatewayProxyRequest
	if err := json.Unmarshal(request(n.t, "POST", "/inbound/"+n.company+"/webhook", "", body), &e); err != nil {
		n.t.Fatal(err)
	}
	for name, values := range signer.Headers(id, []byte(signs), time.Now()) {
		e.MultiValueHeaders[name] = values
	}
	payload, err := json.Marshal(e)
	if err != nil {
		n.t.Fatal(err)
	}
	return payload
}

// TestInbound_Signature checks that a signature must match every byte of the body.
func TestInbound_Signature(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	f := n.start(t, "integrations")
	n.call(f, "POST", "/integrations/webhook", `{"url":"https://example.com/hooks","events":["memory.*"],"signingSecret":"`+signingSecret+`"}`, 201, nil)
	inbound := n.start(t, "inbound")
	ticket := func(title string) string {
		return `{"type":"memory.upsert","data":{"externalId":"42","kind":"ticket","title":"` + title + `"}}`
	}
	tests := []struct {
		name, body, signs string
		status            int
		holds             string
	}{
		{"not only ASCII", ticket("Drucker brennt: größte Not 🔥"), ticket("Drucker brennt: größte Not 🔥"), 202, `"sandboxed":true`},
		{"with an extra space", ticket("Printer on fire") + " ", ticket("Printer on fire"), 401, "unauthenticated"},
		{"another text", ticket("Printer on fire"), ticket("Printer on fire!"), 401, "unauthenticated"},
		{"with bytes that are not UTF-8", ticket("Printer \xff on fire"), ticket("Printer \xff on fire"), 401, "unauthenticated"},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := ask(t, inbound, n.signed(fmt.Sprint("msg_", i), tt.body, tt.signs))
			if resp.StatusCode != tt.status || !strings.Contains(resp.Body, tt.holds) {
				t.Errorf("%d %s, want %d and %s", resp.StatusCode, resp.Body, tt.status, tt.holds)
			}
		})
	}
}

// TestInbound_GitHub checks that a delivery from GitHub becomes one memory, even if repeated, and that a delivery signed with
// another secret is refused.
func TestInbound_GitHub(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	n.certified("github", `{"repository":"example/ledger","signingSecret":"`+sampleSecret+`"}`)
	inbound, payload := n.start(t, "inbound"), sample(t, "inbound/github-issue-opened", sampleCompany, n.company)
	if resp := ask(t, inbound, payload); resp.StatusCode != 202 || !strings.Contains(resp.Body, `"outcome":"created"`) {
		t.Fatalf("%d %s", resp.StatusCode, resp.Body)
	}
	if resp := ask(t, inbound, payload); resp.StatusCode != 200 || !strings.Contains(resp.Body, `"duplicate":true`) {
		t.Errorf("again: %d %s", resp.StatusCode, resp.Body)
	}
	page, err := store.For(n.main, n.company).Query(t.Context(), store.Query{Prefix: memory.Prefix})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	var m memory.Memory
	if err := json.Unmarshal(page.Items[0].Body, &m); err != nil || m.ExternalID != "example/ledger/issues/42" ||
		m.Kind != "issue" || m.Title != "Exports miss the last page" {
		t.Errorf("%+v, %v", m, err)
	}
	other := newTenant(t)
	other.certified("github", `{"repository":"example/ledger","signingSecret":"another secret than that"}`)
	refused := ask(t, other.start(t, "inbound"), sample(t, "inbound/github-issue-opened", sampleCompany, other.company))
	if refused.StatusCode != 401 || !strings.Contains(refused.Body, "unauthenticated") {
		t.Errorf("with another secret: %d %s", refused.StatusCode, refused.Body)
	}
}
