package lambdatest_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"orgops/shared/domain/memory"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
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
			wantAnswer(t, inbound, n.signed(fmt.Sprint("msg_", i), tt.body, tt.signs), tt.status, tt.holds)
		})
	}
}

// TestInbound_GitHub checks that an arrival from GitHub becomes one memory, even if repeated, and that an arrival signed with
// another secret is refused.
func TestInbound_GitHub(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	n.certified("github", `{"repository":"example/ledger","signingSecret":"`+sampleSecret+`"}`)
	inbound, payload := n.start(t, "inbound"), sample(t, "inbound/github-issue-opened", sampleCompany, n.company)
	wantAnswer(t, inbound, payload, 202, `"outcome":"created"`)
	wantAnswer(t, inbound, payload, 200, `"duplicate":true`)
	var m memory.Memory
	errtest.Must(t, json.Unmarshal(n.memory().Body, &m))
	got, want := [...]string{m.ExternalID, m.Kind, m.Title}, [...]string{"issues/2990011223", "issue", "Exports miss the last page"}
	if got != want {
		t.Errorf("memory = %q, want %q", got, want)
	}
	other := newTenant(t)
	other.certified("github", `{"repository":"example/ledger","signingSecret":"another secret than that"}`)
	signedByAnother := sample(t, "inbound/github-issue-opened", sampleCompany, other.company)
	wantAnswer(t, other.start(t, "inbound"), signedByAnother, 401, "unauthenticated")
}

// memory returns the item of the company's only memory.
func (n *tenant) memory() store.Item {
	n.t.Helper()
	page, err := store.For(n.main, n.company).Query(n.t.Context(), store.Query{Prefix: memory.Prefix})
	errtest.Must(n.t, err)
	if len(page.Items) != 1 {
		n.t.Fatalf("%d memories, want 1", len(page.Items))
	}
	return page.Items[0]
}
