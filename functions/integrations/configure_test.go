package integrations_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	webtest.GuardAll(t, setup(t).Harness)
}

func TestConfigure(t *testing.T) {
	t.Parallel()
	s := setup(t)
	body := map[string]any{"url": "https://example.com/hooks", "events": []string{"memory.updated"}}
	first := s.do("POST", "/webhook", body).Want(201)
	var i shown
	first.JSON(&i)
	if got := first.Header.Get("Location"); got != s.at("/webhook") {
		t.Errorf("Location %q, want %q", got, s.at("/webhook"))
	}
	want := shown{
		Provider: "webhook", Kind: "webhook", State: "sandbox", Enabled: true, Version: 1,
		URL: "https://example.com/hooks", Events: []string{"memory.updated"},
	}
	other := cmpopts.IgnoreFields(shown{}, "Config", "Permissions", "Health", "SigningSecret", "SecretAt")
	if diff := cmp.Diff(want, i, other); diff != "" {
		t.Errorf("integration differs (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(i.SigningSecret, "whsec_") {
		t.Errorf("signing secret %q, want a generated one", i.SigningSecret)
	}
	again := s.do("POST", "/webhook", body).Want(200)
	if got := again.Header.Get("Location"); got != "" {
		t.Errorf("Location %q although nothing was created, want none", got)
	}
	s.keepsOut(again.Body, i.SigningSecret)
	if live := s.secrets("webhook").Live(s.clock.Now()); !slices.Equal(live, []string{i.SigningSecret}) {
		t.Errorf("%d live secrets after a second POST, want only the generated one", len(live))
	}
	etag := again.Header.Get("ETag")
	if etag == first.Header.Get("ETag") {
		t.Errorf("ETag %s after a second POST, want another one", etag)
	}
	if got := s.do("GET", "/webhook", nil).Want(200).Header.Get("ETag"); got != etag {
		t.Errorf("ETag %s, want %s as in the answer to POST", got, etag)
	}
}

// TestConfigure_GivenSecret never shows a signing secret that the caller chose.
func TestConfigure_GivenSecret(t *testing.T) {
	t.Parallel()
	s := setup(t)
	body := map[string]any{"url": "https://example.com/hooks", "events": []string{"memory.*"}, "signingSecret": given}
	s.keepsOut(s.do("POST", "/webhook", body).Want(201).Body, given)
	s.keepsOut(s.do("POST", "/webhook", body).Want(200).Body, given)
	if live := s.secrets("webhook").Live(s.clock.Now()); !slices.Equal(live, []string{given}) {
		t.Errorf("the same secret again: %d live secrets, want only that one", len(live))
	}
	body["signingSecret"] = another
	s.keepsOut(s.do("POST", "/webhook", body).Want(200).Body, given, another)
	if live := s.secrets("webhook").Live(s.clock.Now()); !slices.Equal(live, []string{another, given}) {
		t.Errorf("another secret: %d live secrets, want the new one and the first", len(live))
	}
	body["signingSecret"] = "whsec_too-short"
	s.keepsOut(s.do("POST", "/webhook", body).Want(422).Body, "too-short")
}

func TestConfigure_GithubWithoutSecret(t *testing.T) {
	t.Parallel()
	s := setup(t)
	i := s.configured("github", map[string]any{"repository": "octo/app"}, 201)
	if i.SigningSecret != "" {
		t.Errorf("generated %q, want no secret, because GitHub would not know it", i.SigningSecret)
	}
	if i.SecretAt != nil {
		t.Errorf("secretAt %v, want none", i.SecretAt)
	}
	if secrets := s.secrets("github"); len(secrets.Signing) != 0 {
		t.Errorf("%d secrets, want none", len(secrets.Signing))
	}
}

func TestConfigure_Refused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	tests := []struct {
		name, provider string
		body           any
		status         int
		kind           string
		problems       []string // pointers
		detail         string   // part of the body
	}{
		{"all problems at once", "webhook",
			map[string]any{"url": 5, "events": []string{"memory.deleted"}, "rateLimit": 0, "more": true, "headers": map[string]string{"webhook-id": "1", "a b": "2"}},
			422, "invalid", []string{"/events/0", "/headers/a b", "/more", "/rateLimit", "/url"}, "memory.updated"},
		{"an empty object", "webhook", map[string]any{}, 422, "invalid", []string{"/events", "/url"}, "required"},
		{"unknown field", "feed", map[string]any{"url": "https://example.com/feed", "URL": "x"}, 422, "invalid", []string{"/URL"}, "known are maxItems, schedule, url"},
		{"an unknown event lists the known ones", "webhook", map[string]any{"url": "https://example.com/", "events": []string{"memory"}},
			422, "invalid", []string{"/events/0"}, "goal.alignment.changed"},
		{"private address", "webhook", map[string]any{"url": "https://10.0.0.5/", "events": []string{"memory.*"}}, 422, "invalid", []string{"/url"}, "is not public"},
		{"metadata address", "feed", map[string]any{"url": "http://169.254.169.254/latest/meta-data"}, 422, "invalid", []string{"/url"}, "the host's address is not public"},
		{"an address in disguise", "feed", map[string]any{"url": "https://2130706433/"}, 422, "invalid", []string{"/url"}, "four decimal numbers"},
		{"plain http", "webhook", map[string]any{"url": "http://example.com/", "events": []string{"memory.*"}}, 422, "invalid", []string{"/url"}, "must be https"},
		{"a header of the signature", "webhook", map[string]any{"url": "https://example.com/", "events": []string{"memory.*"}, "headers": map[string]string{"webhook-id": "1"}},
			422, "invalid", []string{"/headers/webhook-id"}, "signature"},
		{"unknown provider", "unknown", map[string]any{}, 404, "not-found", nil, "known are " + strings.Join(registry().Kinds(), ", ")},
		{"a bad name", "webhook-A", map[string]any{}, 404, "not-found", nil, "known are"},
		{"not JSON", "webhook", `{"url"`, 400, "malformed", nil, "JSON"},
		{"two documents", "webhook", `{} {}`, 400, "malformed", nil, "JSON"},
		{"a list", "webhook", `[]`, 422, "invalid", []string{""}, "object"},
		{"null", "webhook", `null`, 422, "invalid", []string{""}, "object"},
		{"no body", "webhook", nil, 400, "malformed", nil, "body"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := s.in(t).do("POST", "/"+tt.provider, tt.body)
			p := answer.WantProblem(tt.status, tt.kind)
			var pointers []string
			for _, problem := range p.Errors {
				pointers = append(pointers, problem.Pointer)
			}
			if diff := cmp.Diff(tt.problems, pointers); diff != "" {
				t.Errorf("pointers differ (-want +got):\n%s", diff)
			}
			if !strings.Contains(string(answer.Body), tt.detail) {
				t.Errorf("answer %s, want one with %q", answer.Body, tt.detail)
			}
		})
	}
	if answer := s.do("GET", "", nil).Want(200); !strings.Contains(string(answer.Body), `"items":[]`) {
		t.Errorf("integrations after refused requests %s, want none", answer.Body)
	}
	s.Do("POST", s.at("/webhook"), s.A.Token, "url=x", "Content-Type", "application/x-www-form-urlencoded").WantProblem(415, "unsupported-media-type")
	s.do("POST", "/webhook", `{"url":"`+strings.Repeat("x", 1<<20)+`"}`).WantProblem(413, "too-large")
}

// TestConfigure_Recertification returns the integration to the sandbox after a change to what its certification covers, and
// after no other change.
func TestConfigure_Recertification(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, field string
		value       any
		state       string
	}{
		{"the same again", "events", []string{"memory.*"}, "certified"},
		{"description", "description", "billing", "certified"},
		{"events", "events", []string{"goal.*"}, "certified"},
		{"rate limit", "rateLimit", 5, "certified"},
		{"signing secret", "signingSecret", another, "certified"},
		{"headers", "headers", map[string]string{"X-Team": "a"}, "sandbox"},
		{"url", "url", "https://example.org/", "sandbox"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			r := receive(t, s.verifying(given))
			body := map[string]any{"url": r.URL, "events": []string{"memory.*"}, "signingSecret": given}
			s.configured("webhook", body, 201)
			s.do("POST", "/webhook/certification", nil).Want(200)
			body[tt.field] = tt.value
			i := s.configured("webhook", body, 200)
			want := standing{State: "certified", Certified: true, Enabled: true}
			if tt.state == "sandbox" {
				want = standing{State: "sandbox", Sandboxed: "configuration", Enabled: true}
			}
			s.wantStanding(i, want)
		})
	}
}

// TestConfigure_RecertificationSource returns a source to the sandbox when it is asked for other data: another place, or another
// schema of what is there. Its schedule may change.
func TestConfigure_RecertificationSource(t *testing.T) {
	t.Parallel()
	list := map[string]any{
		"url": "https://example.com/items", "itemsPath": "/data", "idPath": "/id", "titlePath": "/name", "target": "memory", "schedule": "1h",
	}
	tests := []struct {
		provider string
		config   map[string]any
		field    string
		value    any
		state    string
	}{
		{"http", list, "schedule", "2h", "certified"},
		{"http", list, "itemsPath", "/rows", "sandbox"},
		{"http", list, "idPath", "/key", "sandbox"},
		{"http", list, "titlePath", "/title", "sandbox"},
		{"http", list, "bodyPath", "/text", "sandbox"},
		{"http", list, "updatedAtPath", "/at", "sandbox"},
		{"http", list, "target", "goal", "sandbox"},
		{"http", list, "auth", "bearer", "sandbox"},
		{"http", list, "paging", "link", "sandbox"},
		{"github", map[string]any{"repository": "octo/app"}, "repository", "octo/other", "sandbox"},
		{"github", map[string]any{"repository": "octo/app"}, "schedule", "1h", "certified"},
		{"github", map[string]any{"repository": "octo/app"}, "baseUrl", "https://github.example.com/api/v3", "sandbox"},
		{"feed", map[string]any{"url": "https://example.com/feed"}, "url", "https://example.com/other", "sandbox"},
	}
	for _, tt := range tests {
		t.Run(tt.provider+" "+tt.field, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.configured(tt.provider, tt.config, 201)
			i, version, err := integration.Load(t.Context(), s.company(), tt.provider)
			errtest.Must(t, err)
			now := s.clock.Now()
			i.State, i.Certification = integration.Certified, &integration.Certification{PassedAt: now, ExpiresAt: now.Add(integration.CertifiedFor)}
			errtest.Must(t, s.company().Commit(t.Context(), s.company().Replace(integration.Key(tt.provider), integration.Entity, version, i)))
			body := maps.Clone(tt.config)
			s.wantStanding(s.configured(tt.provider, body, 200), standing{State: "certified", Certified: true, Enabled: true})
			body[tt.field] = tt.value
			want := standing{State: "certified", Certified: true, Enabled: true}
			if tt.state == "sandbox" {
				want = standing{State: "sandbox", Sandboxed: "configuration", Enabled: true}
			}
			s.wantStanding(s.configured(tt.provider, body, 200), want)
		})
	}
}

// TestConfigure_LimitAtOnce holds to the limit when the requests come at once.
func TestConfigure_LimitAtOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	statuses := make([]int, integration.MaxPerCompany+10)
	var wg sync.WaitGroup
	for n := range statuses {
		wg.Go(func() {
			statuses[n] = s.do("POST", fmt.Sprintf("/webhook-%d", n), map[string]any{"url": "https://example.com/", "events": []string{"goal.*"}}).Status
		})
	}
	wg.Wait()
	counts := map[int]int{}
	for _, status := range statuses {
		counts[status]++
	}
	if diff := cmp.Diff(map[int]int{201: integration.MaxPerCompany, 409: 10}, counts); diff != "" {
		t.Errorf("statuses differ (-want +got):\n%s", diff)
	}
}

func TestConfigure_Limit(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for n := range integration.MaxPerCompany {
		s.configure(fmt.Sprintf("webhook-%d", n), "https://example.com/")
	}
	body := map[string]any{"repository": "octo/app"}
	if p := s.do("POST", "/github", body).WantProblem(409, "conflict"); !strings.Contains(p.Detail, "at most 50") {
		t.Errorf(`detail %q, want one with "at most 50"`, p.Detail)
	}
	enterprise, err := s.Signer.Issue(token.Claims{Subject: s.A.UserID, Company: s.A.ID, Role: string(user.Founder), Scopes: user.Founder.Scopes(), Plan: "enterprise"})
	errtest.Must(t, err)
	s.Do("POST", s.at("/github-more"), enterprise, body).Want(201)
	s.Do("DELETE", s.at("/github-more"), enterprise, nil).Want(204)
	s.do("POST", "/webhook-7", map[string]any{"url": "https://example.com/", "events": []string{"goal.*"}}).Want(200)
	s.do("DELETE", "/webhook-7", nil).Want(204)
	s.do("POST", "/github", body).Want(201)
	s.Do("POST", "/companies/"+s.B.ID+"/integrations/github", s.B.Token, body).Want(201) // another company has its own count
}

// TestConfigure_Concurrent applies each of several concurrent configurations completely, or refuses it with 409.
func TestConfigure_Concurrent(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const n = 8
	answers := make([]*webtest.Response, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			answers[i] = s.do("POST", "/webhook", map[string]any{"url": fmt.Sprintf("https://example.com/%d", i), "events": []string{"memory.*"}})
		})
	}
	running.Wait()
	count := map[int]int{}
	made := ""
	for _, a := range answers {
		count[a.Status]++
		if a.Status == http.StatusCreated {
			var i shown
			a.JSON(&i)
			made = i.SigningSecret
		}
		if a.Status == http.StatusConflict {
			a.WantProblem(409, "conflict")
		}
	}
	if count[201] != 1 {
		t.Errorf("answers %v, want one 201", count)
	}
	if got := count[201] + count[200] + count[409]; got != n {
		t.Errorf("answers %v, want only 200, 201 and 409", count)
	}
	if got, want := s.get("webhook").Version, int64(1+count[200]); got != want {
		t.Errorf("version %d, want %d", got, want)
	}
	if live := s.secrets("webhook").Live(s.clock.Now()); !slices.Equal(live, []string{made}) {
		t.Errorf("%d live secrets, want only the one shown", len(live))
	}
}

// TestConfigure_IdempotencyKey shows a generated secret again to a repeat, and changes nothing.
func TestConfigure_IdempotencyKey(t *testing.T) {
	t.Parallel()
	s := setup(t)
	body := map[string]any{"url": "https://example.com/", "events": []string{"memory.*"}}
	twice := func(path string, body any, status int) {
		first := s.do("POST", path, body, "Idempotency-Key", path).Want(status)
		if again := s.do("POST", path, body, "Idempotency-Key", path).Want(status); string(again.Body) != string(first.Body) {
			t.Errorf("POST %s: a repeat got %s, want %s", path, again.Body, first.Body)
		}
	}
	twice("/webhook", body, 201)
	twice("/webhook/secret", nil, 200)
	if got := len(s.secrets("webhook").Live(s.clock.Now())); got != 2 {
		t.Errorf("%d live secrets after one configuration and one rotation, want 2", got)
	}
	first := s.do("POST", "/webhook/disable", nil, "Idempotency-Key", "k3").Want(200)
	s.do("POST", "/webhook/enable", nil, "Idempotency-Key", "k4").Want(200)
	if again := s.do("POST", "/webhook/disable", nil, "Idempotency-Key", "k3").Want(200); string(again.Body) != string(first.Body) {
		t.Errorf("answer to the repeat %s, want %s", again.Body, first.Body)
	}
	if !s.get("webhook").Enabled {
		t.Error("the repeat disabled the integration, want it still enabled")
	}
}
