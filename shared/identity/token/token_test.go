package token_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/base/fault"
	"orgops/shared/identity/token"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// seeded reads the same byte endlessly.
type seeded byte

func (s seeded) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(s)
	}
	return len(p), nil
}

func key(t testing.TB, seed byte) token.Key {
	t.Helper()
	k, err := token.NewKey(seeded(seed))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// private returns the private half of key(seed), for forging.
func private(seed byte) ed25519.PrivateKey {
	b := make([]byte, ed25519.SeedSize)
	for i := range b {
		b[i] = seed
	}
	return ed25519.NewKeyFromSeed(b)
}

type parts struct {
	clock    *clocktest.Clock
	config   token.Config
	keys     token.KeySet
	signer   *token.Signer
	verifier *token.Verifier
}

func newParts(t testing.TB) parts {
	t.Helper()
	c := clocktest.At(start)
	config := token.Config{Issuer: "https://issuer.test", Audience: "orgops", Now: c.Now}
	keys := token.KeySet{Current: key(t, 1)}
	return parts{c, config, keys, token.NewSigner(config, keys), token.NewVerifier(config, keys.Public())}
}

var genuine = token.Claims{Subject: "u1", Company: "c1", Plan: "free", Provider: "github", Scopes: []string{"memory:read", "memory:write"}}

func issue(t testing.TB, s *token.Signer) string {
	t.Helper()
	text, err := s.Issue(genuine)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func refused(t *testing.T, v *token.Verifier, text string) {
	t.Helper()
	claims, err := v.Verify(text)
	if got := fault.KindOf(err); got != fault.Unauthenticated {
		t.Errorf("error %v of kind %s, want %s", err, got, fault.Unauthenticated)
	}
	if claims.Company != "" {
		t.Errorf("claims of the company %q, want none", claims.Company)
	}
}

func TestVerifier_Verify(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	text := issue(t, p.signer)
	want := genuine
	want.IssuedAt, want.Expires = start, start.Add(time.Hour)
	for range 2 { // verified, then cached
		got, err := p.verifier.Verify(text)
		errtest.Must(t, err)
		if got.ID == "" {
			t.Error("the token has no id")
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(token.Claims{}, "ID")); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
	}
	p.clock.Advance(time.Hour + 29*time.Second)
	if _, err := p.verifier.Verify(text); err != nil {
		t.Error("refused within the leeway:", err)
	}
	p.clock.Advance(2 * time.Second)
	refused(t, p.verifier, text)
}

func TestSigner_Header(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	head, _, _ := strings.Cut(issue(t, p.signer), ".")
	b, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"alg": "EdDSA", "typ": "at+jwt", "kid": p.keys.Current.ID()}, got); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
}

func TestSigner_Refuses(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	for _, c := range []token.Claims{{}, {Subject: "u"}, {Company: "c"}, {Subject: "u", Company: "a/b"}} {
		if text, err := p.signer.Issue(c); err == nil {
			t.Errorf("%+v: signed %s, want an error", c, text)
		}
	}
	if text, err := token.NewSigner(p.config, token.KeySet{}).Issue(genuine); err == nil {
		t.Errorf("no key: signed %s, want an error", text)
	}
}

// forge signs claims under header with the genuine key, unless key says otherwise.
func forge(t testing.TB, header map[string]any, claims jwt.MapClaims, method jwt.SigningMethod, key any) string {
	t.Helper()
	tok := jwt.NewWithClaims(method, claims)
	for k, v := range header {
		tok.Header[k] = v
		if v == nil {
			delete(tok.Header, k)
		}
	}
	text, err := tok.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestVerifier_Forged(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	kid := p.keys.Current.ID()
	public := private(1).Public().(ed25519.PublicKey)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	header := func(pairs ...any) map[string]any {
		h := map[string]any{"typ": "at+jwt", "kid": kid}
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i].(string)] = pairs[i+1]
		}
		return h
	}
	claims := func(pairs ...any) jwt.MapClaims {
		c := jwt.MapClaims{
			"iss": "https://issuer.test", "aud": "orgops", "sub": "u1", "jti": "j1", "company": "c1", "scope": "memory:read",
			"plan": "free", "iat": start.Unix(), "exp": start.Add(time.Hour).Unix(),
		}
		for i := 0; i < len(pairs); i += 2 {
			c[pairs[i].(string)] = pairs[i+1]
			if pairs[i+1] == nil {
				delete(c, pairs[i].(string))
			}
		}
		return c
	}
	ours := func(h map[string]any, c jwt.MapClaims) string {
		return forge(t, h, c, jwt.SigningMethodEdDSA, private(1))
	}
	good := ours(header(), claims())
	if _, err := p.verifier.Verify(good); err != nil {
		t.Fatal("the genuine token that the table varies is refused:", err)
	}
	if _, err := p.verifier.Verify(ours(header("typ", "application/at+jwt", "jku", "https://evil.test", "x5u", "https://evil.test",
		"jwk", map[string]any{"kty": "OKP", "crv": "Ed25519", "x": "AAAA"}), claims())); err != nil {
		t.Error("refused because of headers that Verify must ignore:", err)
	}
	segments := strings.Split(good, ".")
	tests := []struct{ name, text string }{
		{"empty", ""},
		{"dots", ".."},
		{"four segments", good + ".x"},
		{"trailing garbage", good + "x"},
		{"trailing newline", good + "\n"},
		{"padding", good + "=="},
		{"no signature", segments[0] + "." + segments[1] + "."},
		{"claims of another token", segments[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"company":"c2"}`)) + "." + segments[2]},
		{"huge", good + strings.Repeat("A", 1<<20)},
		{"huge and genuine", ours(header(), claims("scope", strings.Repeat("memory:read ", 1000)))},
		{"alg none", forge(t, header(), claims(), jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType)},
		{"HS256 with the public key", forge(t, header(), claims(), jwt.SigningMethodHS256, []byte(public))},
		{"ES256", forge(t, header(), claims(), jwt.SigningMethodES256, other)},
		{"alg changed after signing", forge(t, header("alg", "none"), claims(), jwt.SigningMethodEdDSA, private(1))},
		{"another key, our kid", forge(t, header(), claims(), jwt.SigningMethodEdDSA, private(9))},
		{"no kid", ours(header("kid", nil), claims())},
		{"kid of another type", ours(header("kid", 1), claims())},
		{"kid is a path", ours(header("kid", "../../"+kid), claims())},
		{"kid is /dev/null", ours(header("kid", "/dev/null"), claims())},
		{"kid is SQL", ours(header("kid", kid+"' OR '1'='1"), claims())},
		{"kid is a URL", ours(header("kid", "https://evil.test/"+kid), claims())},
		{"own key in jwk", forge(t, header("kid", nil, "jwk", map[string]any{"kty": "OKP", "crv": "Ed25519", "x": "AAAA"}), claims(), jwt.SigningMethodEdDSA, private(9))},
		{"typ JWT", ours(header("typ", "JWT"), claims())},
		{"no typ", ours(header("typ", nil), claims())},
		{"crit", ours(header("crit", []string{"b64"}), claims())},
		{"expired", ours(header(), claims("exp", start.Add(-31*time.Second).Unix()))},
		{"no exp", ours(header(), claims("exp", nil))},
		{"exp of another type", ours(header(), claims("exp", "tomorrow"))},
		{"not yet valid", ours(header(), claims("nbf", start.Add(31*time.Second).Unix()))},
		{"issued in the future", ours(header(), claims("iat", start.Add(31*time.Second).Unix()))},
		{"no iat", ours(header(), claims("iat", nil))},
		{"wrong iss", ours(header(), claims("iss", "https://evil.test"))},
		{"no iss", ours(header(), claims("iss", nil))},
		{"wrong aud", ours(header(), claims("aud", "other"))},
		{"no aud", ours(header(), claims("aud", nil))},
		{"no company", ours(header(), claims("company", nil))},
		{"company is not an id", ours(header(), claims("company", "c1#x"))},
		{"company of another type", ours(header(), claims("company", []string{"c1"}))},
		{"provider of another type", ours(header(), claims("provider", []string{"github"}))},
		{"no sub", ours(header(), claims("sub", nil))},
		{"no jti", ours(header(), claims("jti", nil))},
		{"valid for more than an hour", ours(header(), claims("exp", start.Add(time.Hour+time.Second).Unix()))},
		{"valid for decades", ours(header(), claims("exp", start.AddDate(50, 0, 0).Unix()))},
		{"valid for more than an hour because it was issued earlier", ours(header(), claims("iat", start.Add(-time.Minute).Unix()))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refused(t, p.verifier, tt.text)
		})
	}
}

func TestVerifier_Use(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	old := issue(t, p.signer)
	check := func(text string, want bool) {
		t.Helper()
		_, err := p.verifier.Verify(text)
		if got := err == nil; got != want {
			t.Errorf("verified = %t, want %t: %v", got, want, err)
		}
	}
	check(old, true)
	next := rotated(t, p.keys, 2)
	p.verifier.Use(next.Public())
	p.signer.Use(next)
	fresh := issue(t, p.signer)
	check(old, true)
	check(fresh, true)
	p.verifier.Use(token.KeySet{Current: next.Current}.Public())
	check(old, false) // cached as verified, but its key is gone
	check(fresh, true)
}

// TestVerifier_KeyEnds refuses a token that it remembers as verified once the token's key has ended.
func TestVerifier_KeyEnds(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	next, err := p.keys.Rotated(key(t, 2), start, 0)
	errtest.Must(t, err)
	p.verifier.Use(next.Public()) // the first key ends two hours from now; the signer has not learned of that
	p.clock.Set(start.Add(119 * time.Minute))
	text := issue(t, p.signer)
	if _, err := p.verifier.Verify(text); err != nil {
		t.Fatalf("before its key ends, the token is refused: %v", err)
	}
	p.clock.Set(start.Add(2*time.Hour - time.Second))
	if _, err := p.verifier.Verify(text); err != nil {
		t.Errorf("a second before its key ends, the token is refused: %v", err)
	}
	p.clock.Set(start.Add(2 * time.Hour))
	refused(t, p.verifier, text)
}

func TestVerifier_CacheIsBounded(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	texts := make([]string, 9000)
	for i := range texts {
		c := genuine
		c.Subject = fmt.Sprint(i)
		var err error
		if texts[i], err = p.signer.Issue(c); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{texts[0], texts[len(texts)-1]} {
		if _, err := p.verifier.Verify(text); err != nil {
			t.Error(err)
		}
	}
	for i, text := range texts {
		c, err := p.verifier.Verify(text)
		errtest.Must(t, err)
		if want := fmt.Sprint(i); c.Subject != want {
			t.Fatalf("subject %q, want %q", c.Subject, want)
		}
	}
}

func FuzzVerify(f *testing.F) {
	p := newParts(f)
	// Every process of the fuzzer forges the same text. Verify may accept only this one.
	text := forge(f, map[string]any{"typ": "at+jwt", "kid": p.keys.Current.ID()}, jwt.MapClaims{
		"iss": "https://issuer.test", "aud": "orgops", "sub": "u1", "jti": "j1", "company": "c1",
		"iat": start.Unix(), "exp": start.Add(time.Hour).Unix(),
	}, jwt.SigningMethodEdDSA, private(1))
	f.Add(text)
	f.Add("..")
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := p.verifier.Verify(s)
		if err == nil && s != text {
			t.Fatalf("accepted %q as %+v, want only %q accepted", s, c, text)
		}
		if got := fault.KindOf(err); err != nil && got != fault.Unauthenticated {
			t.Fatalf("error %v of kind %s, want %s", err, got, fault.Unauthenticated)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	p := newParts(b)
	text := issue(b, p.signer)
	for b.Loop() {
		if _, err := p.verifier.Verify(text); err != nil {
			b.Fatal(err)
		}
	}
}
