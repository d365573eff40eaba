package scheme_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/provider/scheme"
	"orgops/shared/testkit/errtest"
)

// vector holds an arrival. testdata/vectors.json has one for each scheme, computed with Python's hmac, base64 and cryptography.
type vector struct {
	Headers      map[string]string
	Secret, Body string
}

const address = "https://ops.example.com/inbound/c/p?x=1"

// sent is when the vectors were signed.
var sent = time.Unix(1771840800, 0)

func (v vector) request() scheme.Request {
	header := http.Header{}
	for name, value := range v.Headers {
		header.Set(name, value)
	}
	return scheme.Request{Method: http.MethodPost, URLs: []string{"https://former.example.com/", address}, Header: header, Body: []byte(v.Body)}
}

func vectors(t testing.TB) map[string]vector {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors.json")
	errtest.Must(t, err)
	var all map[string]vector
	errtest.Must(t, json.Unmarshal(raw, &all))
	return all
}

func named(t testing.TB, name string) scheme.Scheme {
	t.Helper()
	s, ok := scheme.Named(name)
	if !ok {
		t.Fatalf("there is no scheme %q", name)
	}
	return s
}

// TestScheme_Verify accepts each vector, and refuses it with anything changed that the provider signs.
func TestScheme_Verify(t *testing.T) {
	t.Parallel()
	all := vectors(t)
	if diff := cmp.Diff(scheme.Names(), slices.Sorted(maps.Keys(all))); diff != "" {
		t.Fatalf("schemes without a vector (-schemes +vectors):\n%s", diff)
	}
	for name, v := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := named(t, name)
			id, err := s.Verify([]string{"another secret", v.Secret}, v.request(), sent.Add(time.Minute))
			errtest.Must(t, err)
			if signed := strings.Contains(s.Signed, "{id}"); signed != (id == "msg_1") {
				t.Errorf("id = %q, although the signature covers it: %v", id, signed)
			}
			for what, change := range changes(s, v) {
				r, secrets, now := v.request(), []string{v.Secret}, sent
				change(&r, &secrets, &now)
				if _, err := s.Verify(secrets, r, now); fault.KindOf(err) != fault.Unauthenticated {
					t.Errorf("%s: %v, want fault.Unauthenticated", what, err)
				}
			}
		})
	}
}

// TestScheme_Verify_published accepts the examples that providers publish.
func TestScheme_Verify_published(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/published.json")
	errtest.Must(t, err)
	var all map[string]struct {
		vector

		Scheme, URL string
		At          int64
	}
	errtest.Must(t, json.Unmarshal(raw, &all))
	if len(all) < 6 {
		t.Errorf("%d examples, want at least 6", len(all))
	}
	for name, v := range all {
		r := v.request()
		r.URLs = []string{v.URL}
		if _, err := named(t, v.Scheme).Verify([]string{v.Secret}, r, time.Unix(v.At, 0)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// inBody returns what makes an arrival invalid whose signature stands in the body.
func inBody(v vector) map[string]func(r *scheme.Request, secrets *[]string, now *time.Time) {
	all := map[string]func(*scheme.Request, *[]string, *time.Time){
		"no secret":    func(_ *scheme.Request, secrets *[]string, _ *time.Time) { *secrets = nil },
		"empty secret": func(_ *scheme.Request, secrets *[]string, _ *time.Time) { *secrets = []string{""} },
		"too late":     func(_ *scheme.Request, _ *[]string, now *time.Time) { *now = sent.Add(301 * time.Second) },
		"too early":    func(_ *scheme.Request, _ *[]string, now *time.Time) { *now = sent.Add(-301 * time.Second) },
		"in headers": func(r *scheme.Request, _ *[]string, _ *time.Time) {
			var body struct{ Signature map[string]string }
			_ = json.Unmarshal(r.Body, &body)
			for name, value := range body.Signature {
				r.Header.Set(name, value)
			}
			r.Body = []byte(`{}`)
		},
	}
	for what, change := range map[string][2]string{
		"other time": {"1771840800", "1771840801"}, "other token": {"msg_1", "msg_2"}, "a part moved": {`1771840800","token":"msg_1`, `177184080","token":"0msg_1`},
		"no object": {`"signature":{`, `"other":{`}, "no JSON": {"{", "("}, "no token": {`"token"`, `"t"`}, "no time": {`"timestamp"`, `"t"`},
		"no signature": {`"signature":"`, `"s":"`}, "bad signature": {`"signature":"`, `"signature":"00`}, "a list": {`"token":"msg_1"`, `"token":["msg_1"]`},
	} {
		all[what] = func(r *scheme.Request, _ *[]string, _ *time.Time) {
			r.Body = []byte(strings.Replace(v.Body, change[0], change[1], 1))
		}
	}
	return all
}

// changes returns what makes an arrival of a scheme invalid.
func changes(s scheme.Scheme, v vector) map[string]func(r *scheme.Request, secrets *[]string, now *time.Time) {
	if s.Object != "" {
		return inBody(v)
	}
	all := map[string]func(*scheme.Request, *[]string, *time.Time){
		"no secret":    func(_ *scheme.Request, secrets *[]string, _ *time.Time) { *secrets = nil },
		"empty secret": func(_ *scheme.Request, secrets *[]string, _ *time.Time) { *secrets = []string{""} },
		"other secret": func(_ *scheme.Request, secrets *[]string, _ *time.Time) {
			*secrets = []string{"s3cret-of-the-Provider"}
		},
		"no signature": func(r *scheme.Request, _ *[]string, _ *time.Time) { r.Header.Del(s.Header) },
		"empty header": func(r *scheme.Request, _ *[]string, _ *time.Time) { r.Header.Set(s.Header, "") },
		"other header": func(r *scheme.Request, _ *[]string, _ *time.Time) {
			r.Header.Set("X-Other-Signature", r.Header.Get(s.Header))
			r.Header.Del(s.Header)
		},
		"bad signature": func(r *scheme.Request, _ *[]string, _ *time.Time) { r.Header.Set(s.Header, "00") },
	}
	if s.Covers() {
		all["other body"] = func(r *scheme.Request, _ *[]string, _ *time.Time) { r.Body = append(r.Body, '1') }
		all["other digit of the signature"] = func(r *scheme.Request, _ *[]string, _ *time.Time) {
			value := []byte(r.Header.Get(s.Header))
			at := len(value) - 10 // within the last signature
			value[at] = map[bool]byte{true: 'b', false: 'a'}[value[at] == 'a']
			r.Header.Set(s.Header, string(value))
		}
	}
	maps.Copy(all, forged(s, v))
	if s.ID != "" {
		all["other id"] = func(r *scheme.Request, _ *[]string, _ *time.Time) { r.Header.Set(s.ID, "msg_2") }
		all["two ids"] = func(r *scheme.Request, _ *[]string, _ *time.Time) { r.Header.Add(s.ID, "msg_2") }
		all["no id"] = func(r *scheme.Request, _ *[]string, _ *time.Time) { r.Header.Del(s.ID) }
	}
	if strings.Contains(s.Signed, "{url}") {
		all["other address"] = func(r *scheme.Request, _ *[]string, _ *time.Time) { r.URLs = []string{address + "2"} }
	}
	if strings.Contains(s.Signed, "{method}") {
		all["other method"] = func(r *scheme.Request, _ *[]string, _ *time.Time) { r.Method = http.MethodPut }
	}
	if t := s.Time; t != nil {
		beyond := time.Duration(t.Tolerance+1) * time.Second
		all["too late"] = func(_ *scheme.Request, _ *[]string, now *time.Time) { *now = sent.Add(beyond) }
		all["too early"] = func(_ *scheme.Request, _ *[]string, now *time.Time) { *now = sent.Add(-beyond) }
		if t.Header != "" {
			all["no time"] = func(r *scheme.Request, _ *[]string, _ *time.Time) { r.Header.Del(t.Header) }
			all["two times"] = func(r *scheme.Request, _ *[]string, _ *time.Time) { r.Header.Add(t.Header, "1771840801") }
			all["other time"] = func(r *scheme.Request, _ *[]string, _ *time.Time) {
				r.Header.Set(t.Header, strings.Replace(r.Header.Get(t.Header), "0", "1", 1))
			}
		}
		if t.Field != "" {
			all["other time"] = func(r *scheme.Request, _ *[]string, _ *time.Time) {
				r.Header.Set(s.Header, strings.Replace(r.Header.Get(s.Header), "1771840800", "1771840801", 1))
			}
			all["two times"] = func(r *scheme.Request, _ *[]string, _ *time.Time) {
				r.Header.Set(s.Header, t.Field+"=1771840801"+map[bool]string{true: ";", false: ","}[s.Separator == ";"]+r.Header.Get(s.Header))
			}
		}
	}
	return all
}

// encoded matches a signature in a header.
var encoded = regexp.MustCompile(`[0-9a-f]{40,}|[A-Za-z0-9+/]{27,}=+`)

// forged returns signatures that are not in the form of the scheme, or not of what it signs.
func forged(s scheme.Scheme, v vector) map[string]func(r *scheme.Request, secrets *[]string, now *time.Time) {
	all := map[string]func(*scheme.Request, *[]string, *time.Time){}
	if s.Algorithm == scheme.Token {
		for what, said := range map[string]string{"the secret and more": v.Secret + "1", "a part of the secret": v.Secret[1:], "other case": strings.ToUpper(v.Secret)} {
			all[what] = func(r *scheme.Request, _ *[]string, _ *time.Time) { r.Header.Set(s.Header, said) }
		}
		all["two headers"] = func(r *scheme.Request, _ *[]string, _ *time.Time) { r.Header.Add(s.Header, "another") }
		return all
	}
	replaced := func(by func(signature string) string) func(*scheme.Request, *[]string, *time.Time) {
		return func(r *scheme.Request, _ *[]string, _ *time.Time) {
			r.Header.Set(s.Header, encoded.ReplaceAllStringFunc(r.Header.Get(s.Header), by))
		}
	}
	all["cut off"] = replaced(func(signature string) string { return signature[4:] })
	all["longer"] = replaced(func(signature string) string { return "abcd" + signature })
	all["zeros"] = replaced(func(signature string) string { return strings.Repeat("0", len(signature)) })
	all["other encoding"] = replaced(func(signature string) string {
		if raw, err := hex.DecodeString(signature); err == nil {
			return base64.StdEncoding.EncodeToString(raw)
		}
		raw, _ := base64.StdEncoding.DecodeString(signature)
		return hex.EncodeToString(raw)
	})
	if s.Encoding == "base64" {
		all["other case"] = replaced(strings.ToLower)
		all["no padding"] = replaced(func(signature string) string { return strings.TrimRight(signature, "=") })
	}
	for what, mark := range map[string]string{"other prefix": s.Prefix, "other field": s.Field} {
		if mark != "" {
			all[what] = func(r *scheme.Request, _ *[]string, _ *time.Time) {
				r.Header.Set(s.Header, strings.ReplaceAll(r.Header.Get(s.Header), mark, "x"+mark))
			}
		}
	}
	if !s.Signs() {
		return all
	}
	others := map[string]scheme.Scheme{"not of the body": s}
	for _, algorithm := range []string{scheme.SHA1, scheme.SHA256, scheme.SHA512} {
		if other := s; algorithm != s.Algorithm {
			other.Algorithm = algorithm
			others["by "+algorithm] = other
		}
	}
	for what, other := range others {
		if other.Algorithm == s.Algorithm {
			other.Signed = strings.NewReplacer("{body}", "", "{form}", "").Replace(s.Signed)
		}
		all[what] = func(r *scheme.Request, _ *[]string, _ *time.Time) {
			kind := r.Header.Get("Content-Type")
			address := *r
			address.URLs = r.URLs[1:]
			r.Header = other.Sign(v.Secret, "msg_1", address, sent)
			r.Header.Set("Content-Type", kind)
		}
	}
	return all
}

// TestScheme_Sign makes headers that Verify accepts, of each scheme in which the holder of the secret can sign.
func TestScheme_Sign(t *testing.T) {
	t.Parallel()
	for name, v := range vectors(t) {
		s := named(t, name)
		r := v.request()
		r.URLs = r.URLs[1:]
		signed := s.Sign(v.Secret, "sample", r, sent)
		if !s.Signs() {
			if len(signed) > 0 {
				t.Errorf("%s: the holder of the public key signs: %v", name, signed)
			}
			continue
		}
		var names []string
		for header := range signed {
			names = append(names, header)
		}
		slices.Sort(names)
		want := s.Headers()
		for n := range want {
			want[n] = http.CanonicalHeaderKey(want[n])
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s: headers (-documented +made):\n%s", name, diff)
		}
		if kind := r.Header.Get("Content-Type"); kind != "" {
			signed.Set("Content-Type", kind)
		}
		r.Header = signed
		if _, err := s.Verify([]string{v.Secret}, r, sent.Add(time.Second)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestScheme_Verify_forms accepts what proxies and providers make of the headers.
func TestScheme_Verify_forms(t *testing.T) {
	t.Parallel()
	all := vectors(t)
	repeated := all["github"].request()
	repeated.Header["X-Hub-Signature-256"] = append([]string{"sha256=" + strings.Repeat("0", 64)}, repeated.Header["X-Hub-Signature-256"]...)
	upper := all["github"].request()
	upper.Header.Set("X-Hub-Signature-256", strings.ToUpper(upper.Header.Get("X-Hub-Signature-256")))
	joined := all["svix"].request()
	joined.Header.Set("Svix-Signature", "v1,AAAA, "+strings.Fields(joined.Header.Get("Svix-Signature"))[1])
	for name, r := range map[string]scheme.Request{"github": repeated, "svix": joined} {
		if _, err := named(t, name).Verify([]string{all[name].Secret}, r, sent); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := named(t, "github").Verify([]string{all["github"].Secret}, upper, sent); err != nil {
		t.Errorf("upper case: %v", err)
	}
}

// TestScheme_Verify_twilioJSON accepts a body that is no form only if the signed address names its digest.
func TestScheme_Verify_twilioJSON(t *testing.T) {
	t.Parallel()
	const body, secret = `{"a":1}`, "auth-token"
	digest := "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862" // sha256sum of the body
	s := named(t, "twilio")
	for query, want := range map[string]bool{"?bodySHA256=" + digest: true, "?bodySHA256=" + strings.Repeat("0", 64): false, "": false} {
		r := scheme.Request{Method: http.MethodPost, URLs: []string{address[:len(address)-4] + query}, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
		signed := s.Sign(secret, "", r, sent)
		signed.Set("Content-Type", "application/json")
		r.Header = signed
		if _, err := s.Verify([]string{secret}, r, sent); (err == nil) != want {
			t.Errorf("%q: %v, accepted: want %v", query, err, want)
		}
	}
}

func TestScheme_Answer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		scheme, body, text string
		ok                 bool
	}{
		{"slack", `{"type":"url_verification","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}`, "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P", true},
		{"slack", `{"type":"url_verification","challenge":"` + strings.Repeat("x", 2000) + `"}`, "", false},
		{"slack", `{"type":"event_callback","challenge":"x"}`, "", false},
		{"slack", `no JSON`, "", false},
		{"discord", `{"type":0}`, "", true},
		{"discord", `{"type":1}`, "", false},
		{"stripe", `{"type":"url_verification","challenge":"x"}`, "", false},
	}
	for _, tt := range tests {
		text, ok := named(t, tt.scheme).Answer([]byte(tt.body))
		if !ok {
			text = ""
		}
		if diff := cmp.Diff([]any{tt.text, tt.ok}, []any{text, ok}); diff != "" {
			t.Errorf("%s %.60s: the answer differs (-want +got):\n%s", tt.scheme, tt.body, diff)
		}
	}
}

// FuzzScheme_Verify accepts no header but the signed one.
func FuzzScheme_Verify(f *testing.F) {
	all := vectors(f)
	for name, v := range all {
		s := named(f, name)
		f.Add(name, v.request().Header.Get(s.Header), "1771840800")
	}
	f.Fuzz(func(t *testing.T, name, signature, at string) {
		v, ok := all[name]
		if !ok || len(v.Headers) == 0 {
			return
		}
		s, r := named(t, name), v.request()
		before := r.Header.Get(s.Header)
		r.Header.Set(s.Header, signature)
		if s.Time != nil && s.Time.Header != "" {
			r.Header.Set(s.Time.Header, at)
		}
		_, err := s.Verify([]string{v.Secret}, r, sent)
		if err == nil && !strings.Contains(strings.ToLower(signature), strings.ToLower(before[len(before)-20:])) {
			t.Errorf("%s accepts %q", name, signature)
		}
	})
}
