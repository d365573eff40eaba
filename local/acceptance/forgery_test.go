package acceptance_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"strings"
	"testing"
	"time"

	"orgops/shared/token"
)

// forger writes tokens by hand: any header, any claims, any signature.
type forger struct {
	t       *testing.T
	public  token.JWK
	private ed25519.PrivateKey // the service's own
	good    string             // a token that is accepted
	claims  map[string]any     // its claims
	issuer  string
}

func newForger(s *service, tn *tenant) *forger {
	s.t.Helper()
	encoded, err := s.process.Services.Keys.Encode()
	must(s.t, err)
	var file struct{ Current struct{ D string } }
	must(s.t, json.Unmarshal(encoded, &file))
	seed, err := base64.RawURLEncoding.DecodeString(file.Current.D)
	must(s.t, err)
	f := &forger{
		t: s.t, public: s.process.Services.Keys.Public().JWKS().Keys[0], private: ed25519.NewKeyFromSeed(seed),
		good: tn.Token, claims: map[string]any{}, issuer: s.issuer,
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(tn.Token, ".")[1])
	must(s.t, err)
	must(s.t, json.Unmarshal(raw, &f.claims))
	return f
}

// forge changes a good token's header and claims (nil takes a member out) and signs the result.
func (f *forger) forge(header, claims map[string]any, sign func(string) []byte) string {
	f.t.Helper()
	part := func(members, changes map[string]any) string {
		members = maps.Clone(members)
		maps.Copy(members, changes)
		maps.DeleteFunc(members, func(_ string, value any) bool { return value == nil })
		text, err := json.Marshal(members)
		must(f.t, err)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	signed := part(map[string]any{"typ": "at+jwt", "alg": "EdDSA", "kid": f.public.Kid}, header) + "." + part(f.claims, claims)
	return signed + "." + base64.RawURLEncoding.EncodeToString(sign(signed))
}

// sign is the signature of the service's own key.
func (f *forger) sign(signed string) []byte { return ed25519.Sign(f.private, []byte(signed)) }

func unsigned(string) []byte { return nil }

func hs256(secret []byte) func(string) []byte {
	return func(signed string) []byte {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(signed))
		return mac.Sum(nil)
	}
}

// forgeries are tokens that must be refused, by what is wrong with them.
func (f *forger) forgeries() map[string]string {
	f.t.Helper()
	all := map[string]string{
		"of two parts":              strings.Join(strings.Split(f.good, ".")[:2], "."),
		"of a cut signature":        f.good[:len(f.good)-4],
		"followed by something":     f.good + ".e30",
		"longer than any can be":    f.good + strings.Repeat("A", 64<<10),
		"nothing but words":         "let me in please",
		"given twice, comma joined": f.good + ", " + f.good,
	}
	for name, claims := range f.badClaims() {
		all[name] = f.forge(nil, claims, f.sign)
	}
	for name, header := range f.badHeaders() {
		all[name] = f.forge(header, nil, f.sign)
	}
	maps.Copy(all, f.badKeys())
	return all
}

// badClaims are signed with the right key: only what they say is wrong.
func (f *forger) badClaims() map[string]map[string]any {
	now := time.Now()
	at := func(d time.Duration) int64 { return now.Add(d).Unix() }
	return map[string]map[string]any{
		"expired":                      {"iat": at(-2 * time.Hour), "exp": at(-time.Hour)},
		"without an end":               {"exp": nil},
		"not valid yet":                {"nbf": at(time.Hour)},
		"issued in the future":         {"iat": at(time.Hour), "exp": at(2 * time.Hour)},
		"of another issuer":            {"iss": "https://elsewhere.test"},
		"of the issuer and a slash":    {"iss": f.issuer + "/"},
		"of no issuer":                 {"iss": nil},
		"for another audience":         {"aud": "elsewhere"},
		"for no audience":              {"aud": nil},
		"of no company":                {"company": nil},
		"of an empty company":          {"company": ""},
		"of two companies":             {"company": []string{"a", "b"}},
		"of no subject":                {"sub": nil},
		"of times that are words":      {"exp": "tomorrow"},
		"of an end that is no number":  {"exp": map[string]any{}},
		"of a company that is a key":   {"company": "a#COMPANY"},
		"of a company that is a path":  {"company": "../" + f.public.Kid},
		"of a company with a wildcard": {"company": "*"},
	}
}

// badHeaders are signed with the right key too.
func (f *forger) badHeaders() map[string]map[string]any {
	return map[string]map[string]any{
		"of another type":            {"typ": "JWT"},
		"of no type":                 {"typ": nil},
		"of no algorithm":            {"alg": nil},
		"of an algorithm we do not":  {"alg": "ES256"},
		"of no key":                  {"kid": nil},
		"of an unknown key":          {"kid": "unknown"},
		"of a key that is an object": {"kid": map[string]string{"a": "b"}},
		"of a key that is a path":    {"kid": "../token-keys.json"},
		"of a key that is a query":   {"kid": "' OR '1'='1"},
		"under a critical extension": {"crit": []string{"b64"}, "b64": false},
		"unsigned by its word":       {"alg": "none"},
	}
}

// badKeys are signed with what is not the key.
func (f *forger) badKeys() map[string]string {
	f.t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(f.public.X)
	must(f.t, err)
	asJSON, err := json.Marshal(f.public)
	must(f.t, err)
	prefix := []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00} // SubjectPublicKeyInfo of Ed25519
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: append(prefix, raw...)})
	public, private, err := ed25519.GenerateKey(nil)
	must(f.t, err)
	mine := func(signed string) []byte { return ed25519.Sign(private, []byte(signed)) }
	own := map[string]string{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(public)}
	return map[string]string{
		"unsigned (none)":                    f.forge(map[string]any{"alg": "none"}, nil, unsigned),
		"unsigned (NoNe)":                    f.forge(map[string]any{"alg": "NoNe"}, nil, unsigned),
		"unsigned under the right algorithm": f.forge(nil, nil, unsigned),
		"signed by a stranger":               f.forge(nil, nil, mine),
		"bringing its own key":               f.forge(map[string]any{"jwk": own}, nil, mine),
		"naming a place of its key":          f.forge(map[string]any{"jku": "https://elsewhere.test/jwks.json"}, nil, mine),
		"HS256 under the public key's bytes": f.forge(map[string]any{"alg": "HS256"}, nil, hs256(raw)),
		"HS256 under the public key as text": f.forge(map[string]any{"alg": "HS256"}, nil, hs256([]byte(f.public.X))),
		"HS256 under the public key as JWK":  f.forge(map[string]any{"alg": "HS256"}, nil, hs256(asJSON)),
		"HS256 under the public key as PEM":  f.forge(map[string]any{"alg": "HS256"}, nil, hs256(asPEM)),
		"HS256 under an empty file":          f.forge(map[string]any{"alg": "HS256", "kid": "../../../../dev/null"}, nil, hs256(nil)),
	}
}
