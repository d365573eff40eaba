package connector_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/provider/catalog"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/outbound"
)

func registry() connector.Registry {
	return catalog.All(outbound.New(outbound.Options{}), time.Now)
}

func TestRegistry_Find(t *testing.T) {
	t.Parallel()
	r := registry()
	c := store.For(webtest.OpenStore(t), "a")
	kinds := map[string]string{"webhook-billing": "webhook", "webhook-a-1": "webhook"}
	for _, kind := range r.Kinds() {
		kinds[kind] = kind
	}
	for provider, kind := range kinds {
		found, err := r.Find(t.Context(), c, provider)
		errtest.Must(t, err)
		if got := found.Kind(); got != kind {
			t.Errorf("%s: kind = %s, want %s", provider, got, kind)
		}
	}
	for _, provider := range []string{"", "Webhook", "webhook-", "webhook-A", "webhook-a.b", "webhook-" + strings.Repeat("a", 33), "unknown-x", "-x", "https"} {
		if _, ok := r.Lookup(provider); ok {
			t.Errorf("%q was found, want no provider", provider)
		}
		_, err := r.Find(t.Context(), c, provider)
		if got := fault.KindOf(err); got != fault.NotFound {
			t.Errorf("%q: kind = %s, want %s", provider, got, fault.NotFound)
		}
		if got, want := errtest.Message(err), strings.Join(r.Kinds(), ", "); !strings.Contains(got, want) {
			t.Errorf("%q: error %q, want one with %q", provider, got, want)
		}
	}
	if _, ok := (connector.Registry{}).Lookup("webhook"); ok {
		t.Error("the zero registry finds a webhook")
	}
}

// counted implements connector.Connector. It counts how often its schema is asked for.
type counted struct {
	connector.Connector
	asked *int
}

// Schema returns the connector's own schema.
func (c counted) Schema() json.RawMessage {
	*c.asked++
	return c.Connector.Schema()
}

// TestRegistry_CertifiedDigest parses the schema once, and leaves out the fields that a certification does not cover.
func TestRegistry_CertifiedDigest(t *testing.T) {
	t.Parallel()
	asked := 0
	c := counted{lookup(t, "webhook"), &asked}
	r := connector.New(c)
	digest := func(config string) string {
		got, err := r.CertifiedDigest(c, json.RawMessage(config))
		errtest.Must(t, err)
		return got
	}
	first := digest(`{"url":"https://example.com/","events":["memory.*"]}`)
	if got := digest(`{"events":["goal.*"],"rateLimit":5,"url":"https://example.com/"}`); got != first {
		t.Errorf("digest = %s with other fields outside of the certification, want %s", got, first)
	}
	if digest(`{"url":"https://example.org/"}`) == first {
		t.Error("the digest is the same for another url")
	}
	if asked != 1 {
		t.Errorf("the schema was parsed %d times, want 1", asked)
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{` { "b" : 1 , "a" : [ true , null ] } `, `{"a":[true,null],"b":1}`},
		{`{"a":1.0,"b":1e3,"c":1e-7,"d":1e21,"e":-0.5}`, `{"a":1,"b":1000,"c":1e-7,"d":1e+21,"e":-0.5}`},
		{`"<&>\u00e9\u2028\u2029\\u2028\u0007\n\/"`, `"<&>é` + "\u2028\u2029" + `\\u2028\u0007\n/"`},
	}
	for _, tt := range tests {
		got, err := connector.Canonical(json.RawMessage(tt.in))
		errtest.Must(t, err)
		if string(got) != tt.want {
			t.Errorf("Canonical(%s) = %s, want %s", tt.in, got, tt.want)
		}
	}
	if _, err := connector.Canonical(json.RawMessage(`{`)); err == nil {
		t.Error("truncated JSON was accepted")
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	a, b := connector.Digest(json.RawMessage(`{"a":1,"b":2}`)), connector.Digest(json.RawMessage(`{"b":2, "a":1.0}`))
	if a != b {
		t.Errorf("digests of equal configurations = %s and %s, want the same", a, b)
	}
	if len(a) != 43 {
		t.Errorf("digest %s has %d characters, want 43", a, len(a))
	}
	if a == connector.Digest(json.RawMessage(`{"a":1,"b":3}`)) {
		t.Errorf("digest of another configuration = %s too, want another one", a)
	}
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e10,"\u2028"]}`, `"\\\u2029"`, `null`, `[[[]]]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, err := connector.Canonical(raw)
		if err != nil {
			return
		}
		twice, err := connector.Canonical(once)
		errtest.Must(t, err)
		if string(once) != string(twice) {
			t.Errorf("%q: second form = %q, want the first, %q", raw, twice, once)
		}
	})
}
