package authorizer_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/authorizer"
	"orgops/shared/base/fault"
	"orgops/shared/identity/token"
	"orgops/shared/testkit/errtest"
)

const (
	issuer = "https://issuer.test"
	method = "arn:aws:execute-api:eu-central-1:111122223333:q7x2m9k4vd/live/GET/companies/c2/memory"
	stage  = "arn:aws:execute-api:eu-central-1:111122223333:q7x2m9k4vd/live"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world holds an authorizer and the key that it trusts.
type world struct {
	*authorizer.Authorizer
	log     *bytes.Buffer
	private ed25519.PrivateKey
	kid     string
}

type seeded byte

func (s seeded) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(s)
	}
	return len(p), nil
}

func newWorld(t *testing.T) *world {
	t.Helper()
	key, err := token.NewKey(seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	config := token.Config{Issuer: issuer, Audience: "orgops", Now: func() time.Time { return start }}
	verifier := token.NewVerifier(config, token.KeySet{Current: key}.Public())
	log := &bytes.Buffer{}
	return &world{
		log: log, kid: key.ID(), private: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize)),
		Authorizer: &authorizer.Authorizer{
			Logger: slog.New(slog.NewTextHandler(log, nil)),
			Verify: func(_ context.Context, text string) (token.Claims, error) { return verifier.Verify(text) },
		},
	}
}

// signed returns a valid token with these changes to its header and claims; nil removes a member.
func (w *world) signed(t *testing.T, header, claims map[string]any) string {
	t.Helper()
	part := func(members, changes map[string]any) string {
		for name, value := range changes {
			members[name] = value
			if value == nil {
				delete(members, name)
			}
		}
		text, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := part(map[string]any{"typ": "at+jwt", "alg": "EdDSA", "kid": w.kid}, header) + "." + part(map[string]any{
		"iss": issuer, "aud": "orgops", "sub": "u1", "jti": "j1", "company": "c1", "plan": "free", "scope": "memory:read memory:write",
		"iat": start.Unix(), "exp": start.Add(time.Hour).Unix(),
	}, claims)
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(w.private, []byte(text)))
}

func (w *world) ask(text string) (authorizer.Answer, error) {
	return w.Handle(context.Background(), authorizer.Request{Type: "TOKEN", AuthorizationToken: text, MethodARN: method})
}

// TestAuthorizer_Handle checks that the answer depends on the token, not on the company in the request, and has the form
// that the gateway expects.
func TestAuthorizer_Handle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := authorizer.Answer{
		PrincipalID: "u1", UsageIdentifierKey: "shared-key-of-q7x2m9k4vd",
		PolicyDocument: authorizer.Policy{Version: "2012-10-17", Statement: []authorizer.Statement{{
			Action: []string{"execute-api:Invoke"}, Effect: "Allow",
			Resource: []string{
				stage + "/*/companies/c1", stage + "/*/companies/c1/*", stage + "/*/auth/consent", stage + "/*/auth/factors", stage + "/*/auth/factors/*", stage + "/POST/auth/recovery-codes", stage + "/POST/auth/password", stage + "/POST/auth/sign-out",
			},
		}}},
		Context: map[string]string{
			"subject": "u1", "company": "c1", "plan": "free", "scope": "memory:read memory:write", "ratePolicy": `"second";q=5;w=1, "day";q=20000;w=86400`,
		},
	}
	good := w.signed(t, nil, nil)
	for _, spelling := range []string{"Bearer " + good, "bearer " + good, "BEARER " + good, "Bearer   " + good} { // RFC 9110 §11.1
		got, err := w.ask(spelling)
		if err != nil {
			t.Errorf("error after %q: %v, want none", spelling[:8], err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("answer to %q differs (-want +got):\n%s", spelling[:8], diff)
		}
	}
	// A token of one integration gets the same policy, which the gateway may cache; the functions refuse the rest.
	got, err := w.ask("Bearer " + w.signed(t, nil, map[string]any{"provider": "github"}))
	errtest.Must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer to a token that is bound to an integration differs (-want +got):\n%s", diff)
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{`"principalId":`, `"policyDocument":`, `"Version":`, `"Statement":`, `"Action":`, `"Effect":`, `"Resource":`,
		`"context":`, `"usageIdentifierKey":`} {
		if !bytes.Contains(text, []byte(member)) {
			t.Errorf("answer %s, want one with %s", text, member)
		}
	}
}

func TestAuthorizer_Handle_Refuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := w.signed(t, nil, nil)
	segments := strings.Split(good, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"typ":"at+jwt","alg":"none","kid":"`+w.kid+`"}`)) + "." + segments[1] + "."
	other := *w
	other.private = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
	tests := []struct{ name, text string }{
		{"no header", ""},
		{"no scheme", good},
		{"another scheme", "Basic " + good},
		{"a scheme alone", "Bearer"},
		{"for the MCP endpoint, which has no authorizer", "Bearer " + w.signed(t, nil, map[string]any{"aud": issuer + "/companies/c1/mcp"})},
		{"a scheme and a space", "Bearer "},
		{"a scheme with the prefix Bearer", "Bearers " + good},
		{"a tab", "Bearer\t" + good},
		{"a leading space", " Bearer " + good},
		{"a trailing space", "Bearer " + good + " "},
		{"two tokens", "Bearer " + good + " " + good},
		{"a comma", "Bearer " + good + ", Bearer " + good},
		{"a line end", "Bearer " + good + "\n"},
		{"alg none", "Bearer " + none},
		{"another key", "Bearer " + other.signed(t, nil, nil)},
		{"another kid", "Bearer " + w.signed(t, map[string]any{"kid": "other"}, nil)},
		{"no kid", "Bearer " + w.signed(t, map[string]any{"kid": nil}, nil)},
		{"an id token", "Bearer " + w.signed(t, map[string]any{"typ": "JWT"}, nil)},
		{"expired", "Bearer " + w.signed(t, nil, map[string]any{"exp": start.Add(-time.Minute).Unix()})},
		{"not yet valid", "Bearer " + w.signed(t, nil, map[string]any{"nbf": start.Add(time.Minute).Unix()})},
		{"another issuer", "Bearer " + w.signed(t, nil, map[string]any{"iss": "https://evil.test"})},
		{"another audience", "Bearer " + w.signed(t, nil, map[string]any{"aud": "other"})},
		{"oversized", "Bearer " + w.signed(t, nil, map[string]any{"scope": strings.Repeat("memory:read ", 1000)})},
		{"a company that is a wildcard", "Bearer " + w.signed(t, nil, map[string]any{"company": "*"})},
		{"a company with a wildcard", "Bearer " + w.signed(t, nil, map[string]any{"company": "c?"})},
		{"a company that is a path", "Bearer " + w.signed(t, nil, map[string]any{"company": "c1/../c2"})},
		{"a company that is a variable", "Bearer " + w.signed(t, nil, map[string]any{"company": "${aws:username}"})},
		{"an empty company", "Bearer " + w.signed(t, nil, map[string]any{"company": ""})},
	}
	for _, tt := range tests {
		got, err := w.ask(tt.text)
		if !errors.Is(err, authorizer.ErrUnauthorized) {
			t.Errorf("%s: error %v, want %v", tt.name, err, authorizer.ErrUnauthorized)
		}
		if text := errtest.Message(err); text != "Unauthorized" {
			t.Errorf("%s: error %q, want the text that the gateway knows", tt.name, text)
		}
		if diff := cmp.Diff(authorizer.Answer{}, got); diff != "" {
			t.Errorf("%s: answer differs (-want +got):\n%s", tt.name, diff)
		}
	}
	for _, part := range []string{segments[2], good} {
		if strings.Contains(w.log.String(), part) {
			t.Errorf("the log has %s of a token, want nothing of it", part)
		}
	}
}

// TestAuthorizer_Handle_Requests refuses a request that is not of a TOKEN authorizer, and a method ARN with a wildcard.
func TestAuthorizer_Handle_Requests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := "Bearer " + w.signed(t, nil, nil)
	tests := []struct {
		name    string
		request authorizer.Request
	}{
		{"of another type", authorizer.Request{Type: "REQUEST", AuthorizationToken: good, MethodARN: method}},
		{"no ARN", authorizer.Request{Type: "TOKEN", AuthorizationToken: good}},
		{"no stage", authorizer.Request{Type: "TOKEN", AuthorizationToken: good, MethodARN: "arn:aws:execute-api:eu-central-1:111122223333:api"}},
		{"an empty stage", authorizer.Request{Type: "TOKEN", AuthorizationToken: good, MethodARN: "arn:aws:execute-api:eu-central-1:111122223333:api//GET"}},
		{"a wildcard", authorizer.Request{Type: "TOKEN", AuthorizationToken: good, MethodARN: "arn:aws:execute-api:eu-central-1:111122223333:*/live/GET/x"}},
		{"not an ARN", authorizer.Request{Type: "TOKEN", AuthorizationToken: good, MethodARN: "x/live/GET/companies"}},
	}
	for _, tt := range tests {
		got, err := w.Handle(t.Context(), tt.request)
		if err == nil {
			t.Errorf("%s: no error, want one", tt.name)
		}
		if diff := cmp.Diff(authorizer.Answer{}, got); diff != "" {
			t.Errorf("%s: answer differs (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestAuthorizer_Handle_Limits checks that the largest token bounds the size of the answer, and the company id that of the
// policy.
func TestAuthorizer_Handle_Limits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := strings.Repeat("c", 64)
	scope := strings.TrimSpace(strings.Repeat("integrations:write ", 120))
	text := w.signed(t, nil, map[string]any{"company": id, "sub": id, "scope": scope})
	if n := len(text); n > token.MaxSize || n < token.MaxSize*3/4 {
		t.Fatalf("the token has %d bytes, want %d to %d for this test", n, token.MaxSize*3/4, token.MaxSize)
	}
	got, err := w.ask("Bearer " + text)
	errtest.Must(t, err)
	for _, part := range []struct {
		name  string
		value any
		most  int
	}{{"answer", got, 8 << 10}, {"policy", got.PolicyDocument, 1 << 10}} {
		text, err := json.Marshal(part.value)
		errtest.Must(t, err)
		if len(text) > part.most {
			t.Errorf("the %s has %d bytes, want at most %d", part.name, len(text), part.most)
		}
	}
	for name, value := range got.Context {
		if value == "" {
			t.Errorf("%s is empty, want a value", name)
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			t.Errorf("%s is %q, want no control characters", name, value)
		}
	}
}

// TestAuthorizer_Handle_Unknown checks that a token is neither refused nor admitted while the keys cannot be read.
func TestAuthorizer_Handle_Unknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	away := fault.Wrap(fault.Unavailable, "away", errors.New("no keys"))
	w.Verify = func(context.Context, string) (token.Claims, error) { return token.Claims{}, away }
	got, err := w.ask("Bearer " + w.signed(t, nil, nil))
	if !errors.Is(err, away) {
		t.Errorf("error %v, want %v", err, away)
	}
	if errors.Is(err, authorizer.ErrUnauthorized) {
		t.Errorf("error %v is %v, want another one", err, authorizer.ErrUnauthorized)
	}
	if diff := cmp.Diff(authorizer.Answer{}, got); diff != "" {
		t.Errorf("answer differs (-want +got):\n%s", diff)
	}
}

// TestAuthorizer_Client admits the tokens of clients and executives as a user's: to the same paths, under the same usage key.
func TestAuthorizer_Client(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want, err := w.ask("Bearer " + w.signed(t, nil, nil))
	errtest.Must(t, err)
	for name, claims := range map[string]map[string]any{
		"a client":     {"sub": "cl1", "client_id": "cl1", "depends": map[string]int{"u1": 3}, "networks": []string{"192.0.2.0/24"}},
		"an executive": {"sub": "ex1", "client_id": "cl1", "executive": "ex1", "depends": map[string]int{"u1": 3, "cl1": 0}},
		"acting":       {"client_id": "cl1", "executive": "ex1", "act": map[string]string{"sub": "ex1"}, "depends": map[string]int{"ex1": 2}},
	} {
		got, err := w.ask("Bearer " + w.signed(t, nil, claims))
		if err != nil {
			t.Fatalf("%s: %v:\n%s", name, err, w.log)
		}
		got.PrincipalID, got.Context["subject"] = want.PrincipalID, want.Context["subject"]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the answer differs from a user's (-want +got):\n%s", name, diff)
		}
	}
}
