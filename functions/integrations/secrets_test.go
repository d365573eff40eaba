package integrations_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/standardwebhooks"
)

func TestCredentials(t *testing.T) {
	t.Parallel()
	s := setup(t)
	values := map[string]string{"token": "s3cr3t-1", "user-Name_2": "s3cr3t-2"}
	s.do("PUT", "/github/credentials", map[string]any{"credentials": values}).WantProblem(404, "not-found")
	s.configured("github", map[string]any{"repository": "octo/app", "signingSecret": "as typed there"}, 201)
	if answer := s.do("PUT", "/github/credentials", map[string]any{"credentials": values}).Want(204); len(answer.Body) != 0 {
		t.Errorf("204 with %s", answer.Body)
	}
	i := s.get("github")
	if diff := cmp.Diff([]string{"token", "user-Name_2"}, i.Credentials.Names); diff != "" || i.Version != 2 {
		t.Errorf("version %d, %s", i.Version, diff)
	}
	if got := s.secrets("github"); !maps.Equal(got.Values, values) || got.Signing[0].Value != "as typed there" {
		t.Error("the vault does not hold the written credentials")
	}
	item, err := s.company().Get(t.Context(), integration.CredentialKey("github"), nil)
	errtest.Must(t, err)
	s.keepsOut(item.Body, "s3cr3t", "as typed")
	s.do("PUT", "/github/credentials", map[string]any{"credentials": map[string]string{"other": "s3cr3t-3"}}).Want(204)
	if got := s.secrets("github").Values; !maps.Equal(got, map[string]string{"other": "s3cr3t-3"}) {
		t.Error("a second write does not replace the first")
	}
	for range 2 {
		s.do("DELETE", "/github/credentials", nil).Want(204)
		if got := s.secrets("github"); len(got.Values) != 0 || len(got.Signing) != 1 {
			t.Errorf("%d credentials and %d signing secrets remain", len(got.Values), len(got.Signing))
		}
	}
	if i := s.get("github"); i.Credentials != nil {
		t.Errorf("credentials %+v", i.Credentials)
	}
	s.do("GET", "/github/credentials", nil).WantProblem(405, "method-not-allowed")
}

func TestCredentials_Refused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configured("github", map[string]any{"repository": "octo/app"}, 201)
	many, escaped := map[string]string{}, map[string]string{}
	for n := range 21 {
		many[fmt.Sprintf("n%d", n)] = "s3cr3t"
	}
	for n := range 20 {
		escaped[fmt.Sprintf("n%d", n)] = strings.Repeat("<", 8<<10)
	}
	tests := []struct {
		name     string
		body     any
		status   int
		problems []string
	}{
		{"none", map[string]any{"credentials": map[string]string{}}, 422, []string{"/credentials"}},
		{"null", `{"credentials":null}`, 422, []string{"/credentials"}},
		{"missing", `{}`, 422, []string{"/credentials"}},
		{"a number", `{"credentials":{"token":5}}`, 422, []string{"/credentials/token"}},
		{"bad names and values", map[string]any{"credentials": map[string]string{"": "s3cr3t", "1a": "s3cr3t", "a b": "s3cr3t", "ok": "", "long": strings.Repeat("s3cr3t", 1400)}},
			422, []string{"/credentials/", "/credentials/1a", "/credentials/a b", "/credentials/long", "/credentials/ok"}},
		{"too many", map[string]any{"credentials": many}, 422, []string{"/credentials"}},
		{"too large once escaped", map[string]any{"credentials": escaped}, 422, []string{"/credentials"}},
		{"unknown field", `{"credentials":{"token":"s3cr3t"},"password":"s3cr3t"}`, 422, []string{"/password"}},
		{"not JSON", `{"credentials":{"token":"s3cr3t"`, 400, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := s.do("PUT", "/github/credentials", tt.body).Want(tt.status)
			s.keepsOut(answer.Body, "s3cr3t")
			var p struct{ Errors []struct{ Pointer string } }
			answer.JSON(&p)
			var pointers []string
			for _, problem := range p.Errors {
				pointers = append(pointers, problem.Pointer)
			}
			slices.Sort(pointers)
			if diff := cmp.Diff(tt.problems, slices.Compact(pointers)); diff != "" {
				t.Errorf("%s\n%s", answer.Body, diff)
			}
		})
	}
	if i := s.get("github"); i.Version != 1 {
		t.Errorf("version %d", i.Version)
	}
}

// rotation decodes the answer to a rotation as a client sees it.
type rotation struct {
	SigningSecret string
	PreviousUntil *time.Time
	LiveSecrets   int
	SecretAt      time.Time
}

func (s *service) rotate(provider string, body any) rotation {
	s.t.Helper()
	var r rotation
	s.do("POST", "/"+provider+"/secret", body).Want(200).JSON(&r)
	return r
}

// TestRotate checks that every live secret signs, and that a secret expires 24 hours after its successor was stored.
func TestRotate(t *testing.T) {
	t.Parallel()
	s := setup(t)
	signedBy := map[string]bool{}
	names := map[string]string{given: "first"}
	r := receive(t, func(header http.Header, body []byte) int {
		clear(signedBy)
		for secret, name := range names {
			if _, err := standardwebhooks.Verify([]string{secret}, header, body, s.clock.Now()); err == nil {
				signedBy[name] = true
			}
		}
		return http.StatusNoContent
	})
	s.configure("webhook", r.URL)
	signers := func(want ...string) {
		t.Helper()
		s.do("POST", "/webhook/test", nil).Want(200)
		if got := slices.Sorted(maps.Keys(signedBy)); !slices.Equal(got, want) {
			t.Errorf("signed by %v, want %v", got, want)
		}
	}
	signers("first")
	second := s.rotate("webhook", nil)
	names[second.SigningSecret] = "second"
	if until := s.clock.Now().Add(24 * time.Hour); second.LiveSecrets != 2 || !second.PreviousUntil.Equal(until) || !second.SecretAt.Equal(s.clock.Now()) {
		t.Errorf("second: %+v", second)
	}
	signers("first", "second")
	s.clock.Advance(time.Hour)
	third := s.rotate("webhook", map[string]any{"signingSecret": nil})
	names[third.SigningSecret] = "third"
	if third.LiveSecrets != 3 || len(names) != 3 {
		t.Errorf("third: %+v", third)
	}
	signers("first", "second", "third")
	s.clock.Advance(23*time.Hour - time.Millisecond)
	signers("first", "second", "third")
	s.clock.Advance(time.Millisecond)
	signers("second", "third")
	s.clock.Advance(time.Hour)
	signers("third")
	answer := s.do("POST", "/webhook/secret", map[string]any{"signingSecret": another}).Want(200)
	s.keepsOut(answer.Body, another)
	names[another] = "given"
	signers("given", "third")
	if i := s.get("webhook"); i.SecretAt == nil || !i.SecretAt.Equal(s.clock.Now()) {
		t.Errorf("secretAt %v, now %v", i.SecretAt, s.clock.Now())
	}
	if again := s.rotate("webhook", map[string]any{"signingSecret": another}); again.LiveSecrets != 2 {
		t.Errorf("the current secret again: %+v", again)
	}
	signers("given", "third")
}

func TestRotate_First(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configured("github", map[string]any{"repository": "octo/app"}, 201)
	if first := s.rotate("github", map[string]any{"signingSecret": "as typed at github"}); first.PreviousUntil != nil || first.LiveSecrets != 1 || first.SigningSecret != "" {
		t.Errorf("%+v", first)
	}
}

func TestRotate_Refused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.do("POST", "/webhook/secret", nil).WantProblem(404, "not-found")
	s.configure("webhook", "https://example.com/")
	s.configured("feed", map[string]any{"url": "https://example.com/feed"}, 201)
	s.do("POST", "/feed/secret", nil).WantProblem(409, "conflict")
	for _, body := range []string{`{"signingSecret":"s3cr3t-that-is-no-secret"}`, `{"signingSecret":"whsec_s3cr3t"}`, `{"signingSecret":""}`, `{"signingSecret":5}`} {
		p := s.do("POST", "/webhook/secret", body).WantProblem(422, "invalid")
		if len(p.Errors) == 0 || p.Errors[0].Pointer != "/signingSecret" || strings.Contains(p.Errors[0].Detail, "s3cr3t") {
			t.Errorf("%s: %+v", body, p.Errors)
		}
	}
	if i := s.get("webhook"); i.Version != 1 {
		t.Errorf("version %d", i.Version)
	}
}

// TestRotate_Many keeps at most ten live secrets, with the newest among them.
func TestRotate_Many(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/")
	var last rotation
	for range 15 {
		last = s.rotate("webhook", nil)
	}
	live := s.secrets("webhook").Live(s.clock.Now())
	if last.LiveSecrets != 10 || len(live) != 10 || live[0] != last.SigningSecret {
		t.Errorf("%d live secrets", len(live))
	}
}
