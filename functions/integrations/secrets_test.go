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
	values := map[string]string{"token": "s3cr3t-1"}
	s.do("PUT", "/github/credentials", map[string]any{"credentials": values}).WantProblem(404, "not-found")
	s.configured("github", map[string]any{"repository": "octo/app", "signingSecret": "as typed there"}, 201)
	if answer := s.do("PUT", "/github/credentials", map[string]any{"credentials": values}).Want(204); len(answer.Body) != 0 {
		t.Errorf("204 with the body %s, want none", answer.Body)
	}
	i := s.get("github")
	if diff := cmp.Diff([]string{"token"}, i.Credentials.Names); diff != "" {
		t.Errorf("names differ (-want +got):\n%s", diff)
	}
	if i.Version != 2 {
		t.Errorf("version %d, want 2", i.Version)
	}
	stored := s.secrets("github")
	if diff := cmp.Diff(values, stored.Values); diff != "" {
		t.Errorf("credentials in the vault differ (-want +got):\n%s", diff)
	}
	if got := stored.Signing[0].Value; got != "as typed there" {
		t.Errorf(`signing secret in the vault %q, want "as typed there"`, got)
	}
	item, err := s.company().Get(t.Context(), integration.CredentialKey("github"), nil)
	errtest.Must(t, err)
	s.keepsOut(item.Body, "s3cr3t", "as typed")
	second := map[string]string{"token": "s3cr3t-3"}
	s.do("PUT", "/github/credentials", map[string]any{"credentials": second}).Want(204)
	if diff := cmp.Diff(second, s.secrets("github").Values); diff != "" {
		t.Errorf("credentials after a second write differ (-want +got):\n%s", diff)
	}
	for range 2 {
		s.do("DELETE", "/github/credentials", nil).Want(204)
		left := s.secrets("github")
		if got, want := [2]int{len(left.Values), len(left.Signing)}, [2]int{0, 1}; got != want {
			t.Errorf("%v credentials and signing secrets remain, want %v", got, want)
		}
	}
	if i := s.get("github"); i.Credentials != nil {
		t.Errorf("credentials %+v, want none", i.Credentials)
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
		{"not the provider's", map[string]any{"credentials": map[string]string{"token": "s3cr3t", "password": "s3cr3t"}}, 422, []string{"/credentials/password"}},
		{"not a token", map[string]any{"credentials": map[string]string{"token": "s3cr3t\r\nX: s3cr3t"}}, 422, []string{"/credentials/token"}},
		{"no token", map[string]any{"credentials": map[string]string{"user": "s3cr3t"}}, 422, []string{"/credentials/token", "/credentials/user"}},
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
				t.Errorf("pointers differ (-want +got):\n%s", diff)
			}
		})
	}
	if i := s.get("github"); i.Version != 1 {
		t.Errorf("version %d, want 1", i.Version)
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
	want := rotation{
		SigningSecret: second.SigningSecret, PreviousUntil: new(s.clock.Now().Add(24 * time.Hour)), LiveSecrets: 2, SecretAt: s.clock.Now(),
	}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("second rotation differs (-want +got):\n%s", diff)
	}
	signers("first", "second")
	s.clock.Advance(time.Hour)
	third := s.rotate("webhook", map[string]any{"signingSecret": nil})
	names[third.SigningSecret] = "third"
	if third.LiveSecrets != 3 {
		t.Errorf("%d live secrets after the third rotation, want 3", third.LiveSecrets)
	}
	if len(names) != 3 {
		t.Errorf("%d different secrets, want 3", len(names))
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
	if diff := cmp.Diff(new(s.clock.Now()), s.get("webhook").SecretAt); diff != "" {
		t.Errorf("secretAt differs (-want +got):\n%s", diff)
	}
	if again := s.rotate("webhook", map[string]any{"signingSecret": another}); again.LiveSecrets != 2 {
		t.Errorf("%d live secrets after the current secret again, want 2", again.LiveSecrets)
	}
	signers("given", "third")
}

// TestRotate_Grace shortens the time in which the earlier secrets are accepted, down to none.
func TestRotate_Grace(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/")
	for _, tt := range []struct {
		seconds int
		until   *time.Time
		live    int
	}{{60, new(s.clock.Now().Add(time.Minute)), 2}, {0, nil, 1}, {86400, new(s.clock.Now().Add(24 * time.Hour)), 2}} {
		got := s.rotate("webhook", map[string]any{"graceSeconds": tt.seconds})
		want := rotation{SigningSecret: got.SigningSecret, PreviousUntil: tt.until, LiveSecrets: tt.live, SecretAt: s.clock.Now()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rotation with %d seconds of grace differs (-want +got):\n%s", tt.seconds, diff)
		}
		if got, want := len(s.secrets("webhook").Live(s.clock.Now())), tt.live; got != want {
			t.Errorf("%d live secrets in the vault after %d seconds of grace, want %d", got, tt.seconds, want)
		}
	}
	for _, body := range []string{`{"graceSeconds":-1}`, `{"graceSeconds":86401}`, `{"graceSeconds":0.5}`, `{"graceSeconds":"0"}`, `{"graceSeconds":false}`} {
		if got := s.do("POST", "/webhook/secret", body).WantProblem(422, "invalid").Errors[0].Pointer; got != "/graceSeconds" {
			t.Errorf("%s: pointer %q, want /graceSeconds", body, got)
		}
	}
}

func TestRotate_First(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configured("github", map[string]any{"repository": "octo/app"}, 201)
	got := s.rotate("github", map[string]any{"signingSecret": "as typed at github"})
	if diff := cmp.Diff(rotation{LiveSecrets: 1, SecretAt: s.clock.Now()}, got); diff != "" {
		t.Errorf("rotation differs (-want +got):\n%s", diff)
	}
}

func TestRotate_Refused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.do("POST", "/webhook/secret", nil).WantProblem(404, "not-found")
	s.configure("webhook", "https://example.com/")
	s.configured("feed", map[string]any{"url": "https://example.com/feed"}, 201)
	s.do("POST", "/feed/secret", nil).WantProblem(409, "conflict")
	s.configured("github", map[string]any{"repository": "octo/app", "signingSecret": "as typed there"}, 201)
	for _, body := range []any{nil, map[string]any{}, map[string]any{"signingSecret": nil, "graceSeconds": 0}} { // GitHub would never learn a generated one
		p := s.do("POST", "/github/secret", body).WantProblem(422, "invalid")
		if len(p.Errors) != 1 {
			t.Fatalf("%v: problems %v, want one", body, p.Errors)
		}
		if got := p.Errors[0].Pointer; got != "/signingSecret" {
			t.Errorf("%v: pointer %q, want /signingSecret", body, got)
		}
	}
	if got := s.secrets("github").Signing[0].Value; got != "as typed there" {
		t.Errorf("secret %q after refused rotations, want the one that the provider has", got)
	}
	for _, body := range []string{`{"signingSecret":"s3cr3t-that-is-no-secret"}`, `{"signingSecret":"whsec_s3cr3t"}`, `{"signingSecret":""}`, `{"signingSecret":5}`} {
		p := s.do("POST", "/webhook/secret", body).WantProblem(422, "invalid")
		if len(p.Errors) == 0 {
			t.Fatalf("%s: no problems, want one", body)
		}
		if got := p.Errors[0].Pointer; got != "/signingSecret" {
			t.Errorf("%s: pointer %q, want /signingSecret", body, got)
		}
		if got := p.Errors[0].Detail; strings.Contains(got, "s3cr3t") {
			t.Errorf("%s: detail %q, want one without the secret", body, got)
		}
	}
	if i := s.get("webhook"); i.Version != 1 {
		t.Errorf("version %d, want 1", i.Version)
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
	if got, want := [2]int{last.LiveSecrets, len(live)}, [2]int{10, 10}; got != want {
		t.Fatalf("live secrets in the answer and in the vault = %v, want %v", got, want)
	}
	if live[0] != last.SigningSecret {
		t.Errorf("newest live secret %q, want %q", live[0], last.SigningSecret)
	}
}
