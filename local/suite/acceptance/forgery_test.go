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

	"orgops/local/process"
	"orgops/local/suite/servicetest"
	"orgops/shared/identity/token"
	"orgops/shared/testkit/errtest"
	"path/filepath"
)

// forger writes tokens by hand, with any header, any claims and any signature.
type forger struct {
	t       *testing.T
	public  token.JWK
	private ed25519.PrivateKey // the service's own
	good    string             // an accepted token
	claims  map[string]any     // of good
	issuer  string
}

func newForger(s *service, tn *tenant) *forger {
	s.t.Helper()
	keys, err := token.LoadOrCreateKeys(filepath.Join(s.Folder, process.TokenFile))
	errtest.Must(s.t, err)
	encoded, err := keys.Encode()
	errtest.Must(s.t, err)
	var file struct{ Current struct{ D string } }
	errtest.Must(s.t, json.Unmarshal(encoded, &file))
	seed, err := base64.RawURLEncoding.DecodeString(file.Current.D)
	errtest.Must(s.t, err)
	f := &forger{
		t: s.t, public: keys.Public().JWKS().Keys[0], private: ed25519.NewKeyFromSeed(seed),
		good: tn.Token, claims: map[string]any{}, issuer: servicetest.Issuer,
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(tn.Token, ".")[1])
	errtest.Must(s.t, err)
	errtest.Must(s.t, json.Unmarshal(raw, &f.claims))
	return f
}

// forge changes the header and the claims of the accepted token (nil removes a member) and signs the result.
func (f *forger) forge(header, claims map[string]any, sign func(string) []byte) string {
	f.t.Helper()
	part := func(members, changes map[string]any) string {
		members = maps.Clone(members)
		maps.Copy(members, changes)
		maps.DeleteFunc(members, func(_ string, value any) bool { return value == nil })
		text, err := json.Marshal(members)
		errtest.Must(f.t, err)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	signed := part(map[string]any{"typ": "at+jwt", "alg": "EdDSA", "kid": f.public.Kid}, header) + "." + part(f.claims, claims)
	return signed + "." + base64.RawURLEncoding.EncodeToString(sign(signed))
}

// sign signs with the service's own key.
func (f *forger) sign(signed string) []byte { return ed25519.Sign(f.private, []byte(signed)) }

func unsigned(string) []byte { return nil }

func hs256(secret []byte) func(string) []byte {
	return func(signed string) []byte {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(signed))
		return mac.Sum(nil)
	}
}

// forgeries returns tokens that must be refused, each by its flaw.
func (f *forger) forgeries() map[string]string {
	f.t.Helper()
	all := map[string]string{
		"without a signature":    strings.Join(strings.Split(f.good, ".")[:2], "."),
		"with a short signature": f.good[:len(f.good)-4],
		"with a fourth part":     f.good + ".e30",
		"too long":               f.good + strings.Repeat("A", 16<<10), // the header is small enough to be read
		"plain text":             "let me in please",
		"repeated after a comma": f.good + ", " + f.good,
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

// badClaims returns changes to the claims. The tokens are signed with the service's key, so only their claims are wrong.
func (f *forger) badClaims() map[string]map[string]any {
	now := time.Now()
	at := func(d time.Duration) int64 { return now.Add(d).Unix() }
	return map[string]map[string]any{
		"expired":                    {"iat": at(-2 * time.Hour), "exp": at(-time.Hour)},
		"without expiry":             {"exp": nil},
		"not valid yet":              {"nbf": at(time.Hour)},
		"issued in the future":       {"iat": at(time.Hour), "exp": at(2 * time.Hour)},
		"of another issuer":          {"iss": "https://elsewhere.test"},
		"of the issuer with a slash": {"iss": f.issuer + "/"},
		"without issuer":             {"iss": nil},
		"for another audience":       {"aud": "elsewhere"},
		"without audience":           {"aud": nil},
		"without company":            {"company": nil},
		"of an empty company":        {"company": ""},
		"of two companies":           {"company": []string{"a", "b"}},
		"without subject":            {"sub": nil},
		"with text as expiry":        {"exp": "tomorrow"},
		"with an object as expiry":   {"exp": map[string]any{}},
		"with a key as company":      {"company": "a#COMPANY"},
		"with a path as company":     {"company": "../" + f.public.Kid},
		"with a wildcard as company": {"company": "*"},
	}
}

// badHeaders returns changes to the header. The tokens are signed with the service's key too.
func (f *forger) badHeaders() map[string]map[string]any {
	return map[string]map[string]any{
		"of another type":           {"typ": "JWT"},
		"without type":              {"typ": nil},
		"without algorithm":         {"alg": nil},
		"of another algorithm":      {"alg": "ES256"},
		"without a key id":          {"kid": nil},
		"with an unknown key id":    {"kid": "unknown"},
		"with an object as key id":  {"kid": map[string]string{"a": "b"}},
		"with a path as key id":     {"kid": "../token-keys.json"},
		"with a query as key id":    {"kid": "' OR '1'='1"},
		"with a critical extension": {"crit": []string{"b64"}, "b64": false},
		"unsigned by its header":    {"alg": "none"},
	}
}

// badKeys returns tokens that are not signed with the service's key.
func (f *forger) badKeys() map[string]string {
	f.t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(f.public.X)
	errtest.Must(f.t, err)
	asJSON, err := json.Marshal(f.public)
	errtest.Must(f.t, err)
	prefix := []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00} // SubjectPublicKeyInfo of Ed25519
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: append(prefix, raw...)})
	public, private, err := ed25519.GenerateKey(nil)
	errtest.Must(f.t, err)
	mine := func(signed string) []byte { return ed25519.Sign(private, []byte(signed)) }
	own := map[string]string{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(public)}
	return map[string]string{
		"unsigned (none)":                    f.forge(map[string]any{"alg": "none"}, nil, unsigned),
		"unsigned (NoNe)":                    f.forge(map[string]any{"alg": "NoNe"}, nil, unsigned),
		"unsigned under the right algorithm": f.forge(nil, nil, unsigned),
		"signed with another key":            f.forge(nil, nil, mine),
		"with its own key (jwk)":             f.forge(map[string]any{"jwk": own}, nil, mine),
		"with a link to its key (jku)":       f.forge(map[string]any{"jku": "https://elsewhere.test/jwks.json"}, nil, mine),
		"HS256 with the public key's bytes":  f.forge(map[string]any{"alg": "HS256"}, nil, hs256(raw)),
		"HS256 with the public key as text":  f.forge(map[string]any{"alg": "HS256"}, nil, hs256([]byte(f.public.X))),
		"HS256 with the public key as JWK":   f.forge(map[string]any{"alg": "HS256"}, nil, hs256(asJSON)),
		"HS256 with the public key as PEM":   f.forge(map[string]any{"alg": "HS256"}, nil, hs256(asPEM)),
		"HS256 with an empty file":           f.forge(map[string]any{"alg": "HS256", "kid": "../../../../dev/null"}, nil, hs256(nil)),
	}
}
