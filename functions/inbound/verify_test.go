package inbound_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/suspension"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

const upsert = `{"type":"memory.upsert","data":{"externalId":"42","kind":"ticket","title":"Printer on fire"}}`

var instance = regexp.MustCompile(`urn:uuid:[0-9a-f-]{36}`)

// TestReceive_Unverified gives every unverified arrival the same answer, so that a caller cannot find out which companies,
// providers or secrets exist.
func TestReceive_Unverified(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.configure("webhook-off", map[string]any{"url": "https://example.com/", "events": []string{"memory.*"}, "signingSecret": secret})
	s.integrations("POST", "/webhook-off/disable", nil).Want(200)
	s.configure("feed", map[string]any{"url": "https://example.com/feed"})
	s.Do("POST", "/companies/"+s.B.ID+"/integrations/github", s.B.Token, map[string]any{"repository": "octo/app"}).Want(201)

	own := "/inbound/" + s.A.ID + "/webhook"
	signed := s.signature("webhook", secret, "d1", upsert)
	s.clock.Advance(-5*time.Minute - time.Second)
	stale := s.signature("webhook", secret, "d1", upsert)
	s.clock.Advance(10*time.Minute + 2*time.Second)
	early := s.signature("webhook", secret, "d1", upsert)
	s.clock.Advance(-5*time.Minute - time.Second)
	hub := s.signature("github", githubSecret, "d1", upsert)

	tests := []struct {
		name, path, body string
		headers          []string
	}{
		{"no signature", own, upsert, nil},
		{"another secret", own, upsert, s.signature("webhook", "whsec_FxYVFBMSERAPDg0MCwoJCAcGBQQDAgEA", "d1", upsert)},
		{"another body", own, upsert + " ", signed},
		{"too old", own, upsert, stale},
		{"too early", own, upsert, early},
		{"a changed id", own, upsert, append(signed[:len(signed):len(signed)], "Webhook-Id", "d2")},
		{"the scheme of another provider", own, upsert, hub},
		{"the scheme of another provider, for github", "/inbound/" + s.A.ID + "/github", upsert, signed},
		{"sha1 alone", "/inbound/" + s.A.ID + "/github", upsert, []string{"X-Hub-Signature", "sha1=" + strings.Repeat("0", 40), "X-GitHub-Delivery", "d1"}},
		{"a long signature header", own, upsert, append(signed[:len(signed):len(signed)], "Webhook-Signature", strings.Repeat("v1,AAAA ", 100_000))},
		{"a long id", own, upsert, append(signed[:len(signed):len(signed)], "Webhook-Id", strings.Repeat("a", 100_000))},
		{"unknown company", "/inbound/" + id.New() + "/webhook", upsert, signed},
		{"another company's secret", "/inbound/" + s.B.ID + "/webhook", upsert, signed},
		{"no valid company", "/inbound/a.b/webhook", upsert, signed},
		{"not configured", "/inbound/" + s.A.ID + "/webhook-b", upsert, signed},
		{"unknown provider", "/inbound/" + s.A.ID + "/unknown", upsert, signed},
		{"no valid provider", "/inbound/" + s.A.ID + "/a%23b", upsert, signed},
		{"a provider without webhooks", "/inbound/" + s.A.ID + "/feed", upsert, signed},
		{"no secret", "/inbound/" + s.B.ID + "/github", upsert, hub},
		{"disabled", "/inbound/" + s.A.ID + "/webhook-off", upsert, nil},
		{"parsed only after verification", own, `{"type":`, nil},
		{"parsed only after verification, for github", "/inbound/" + s.A.ID + "/github", `{"type":`, nil},
		{"a bearer token", own, upsert, []string{"Authorization", "Bearer " + s.A.Token}},
	}
	want := ""
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := s.in(t).post(tt.path, tt.body, tt.headers...)
			answer.WantProblem(401, "unauthenticated")
			body := instance.ReplaceAllString(string(answer.Body), "")
			if want == "" {
				want = body
			}
			if body != want {
				t.Errorf("answer %s, want %s", body, want)
			}
		})
	}
	s.post(own, upsert, signed...).Want(202) // the headers that the cases are made from are valid
	s.wantCommits(1)
}

// TestReceive_Unverified_EmptyBody treats an empty body like any other: without a signature the caller learns nothing about
// it.
func TestReceive_Unverified_EmptyBody(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	type answer struct {
		Status int
		Body   string
	}
	answerOf := func(companyID string) answer {
		r := s.Do("POST", "/inbound/"+companyID+"/webhook", "", nil)
		return answer{r.Status, instance.ReplaceAllString(string(r.Body), "")}
	}
	known := answerOf(s.A.ID)
	if diff := cmp.Diff(known, answerOf(id.New())); diff != "" {
		t.Errorf("the answer of an unknown company differs from that of a known one (-want +got):\n%s", diff)
	}
	if known.Status != 401 && known.Status != 400 {
		t.Errorf("status = %d, want 401 or 400", known.Status)
	}
}

// TestReceive_Disabled tells a caller with the secret what is wrong.
func TestReceive_Disabled(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.integrations("POST", "/webhook/disable", nil).Want(200)
	if p := s.send("webhook", secret, "d1", upsert).WantProblem(409, "conflict"); !strings.Contains(p.Detail, "enable it") {
		t.Errorf(`detail %q, want one with "enable it"`, p.Detail)
	}
	s.wantCommits(0)
	s.integrations("POST", "/webhook/enable", nil).Want(200)
	s.send("webhook", secret, "d1", upsert).Want(202)
}

// TestReceive_Rotated accepts a rotated secret for a day, together with the new one.
func TestReceive_Rotated(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	var second struct{ SigningSecret string }
	s.integrations("POST", "/webhook/secret", nil).Want(200).JSON(&second)
	var third struct{ SigningSecret string }
	s.integrations("POST", "/webhook/secret", nil).Want(200).JSON(&third)
	s.integrations("POST", "/github/secret", map[string]any{"signingSecret": "typed again"}).Want(200)
	for n, live := range []string{secret, second.SigningSecret, third.SigningSecret} {
		s.send("webhook", live, "d"+string(rune('0'+n)), upsert).Want(202)
	}
	s.send("github", githubSecret, "g1", `{}`, "X-GitHub-Event", "ping").Want(202)
	s.clock.Advance(integration.RotationGrace)
	s.send("webhook", secret, "e1", upsert).WantProblem(401, "unauthenticated")
	s.send("webhook", second.SigningSecret, "e2", upsert).WantProblem(401, "unauthenticated")
	s.send("github", githubSecret, "g2", `{}`, "X-GitHub-Event", "ping").WantProblem(401, "unauthenticated")
	s.send("webhook", third.SigningSecret, "e3", upsert).Want(202)
	s.send("github", "typed again", "g3", `{"zen":"x"}`, "X-GitHub-Event", "ping").Want(202)
}

// TestReceive_RotatedAtOnce refuses the former secret from the moment of a rotation without grace.
func TestReceive_RotatedAtOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.integrations("POST", "/github/secret", map[string]any{"signingSecret": "typed again", "graceSeconds": 0}).Want(200)
	s.send("github", githubSecret, "g1", `{}`, "X-GitHub-Event", "ping").WantProblem(401, "unauthenticated")
	s.send("github", "typed again", "g2", `{}`, "X-GitHub-Event", "ping").Want(202)
}

func TestReceive_NoToken(t *testing.T) {
	t.Parallel()
	s := setup(t)
	webtest.GuardAll(t, s.Harness) // the operations of integrations; signatures alone guard this group
	for _, op := range s.Server.Operations() {
		if op.OperationID == "receive-webhook" && len(op.Security) != 0 {
			t.Errorf("receive-webhook needs %v, want nothing, because a provider holds no token", op.Security)
		}
	}
}

// TestReceive_Suspended refuses the arrivals of a suspended company. A stranger does not learn that it is suspended.
func TestReceive_Suspended(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	_, err := suspension.Suspend(t.Context(), s.company(), "", s.clock.Now())
	errtest.Must(t, err)
	s.send("webhook", secret, "d1", upsert).WantProblem(403, "suspended")
	s.send("webhook", "whsec_"+strings.Repeat("x", 43)+"=", "d1", upsert).WantProblem(401, "unauthenticated")
	_, err = suspension.Resume(t.Context(), s.company(), s.clock.Now())
	errtest.Must(t, err)
	s.send("webhook", secret, "d1", upsert).Want(202)
}
