package integrations_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"orgops/shared/provider/catalog"
	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

// TestConfigure_Checked checks why and where a configuration is refused. s3cr3t stands for values that no answer may quote.
func TestConfigure_Checked(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const url = `"url":"https://example.com/"`
	const minimum = url + `,"events":["memory.*"]`
	tests := []struct {
		name, provider, config string
		want                   []string // pointer: part of the detail
	}{
		{"webhook", "webhook", `{` + url + `,"events":["memory.*","goal.updated"]}`, nil},
		{"everything", "webhook-a", `{` + minimum + `,"description":"d","signingSecret":"` + given + `","headers":{"X-A":"1","x.b":"2"},"rateLimit":1000}`, nil},
		{"unknown fields", "webhook", `{` + minimum + `,"URL":"x","order":true}`, []string{"/URL: known are description, eventVersions, events, filter, headers, ordered, rateLimit, secretHeaders, signingSecret, tables, transform, url", "/order: known are"}},
		{"unknown event", "webhook", `{` + url + `,"events":["memory.*","goal.updated","s3cr3t"]}`, []string{`/events/2: one of "memory.created, memory.synced`}},
		{"no events", "webhook", `{` + url + `,"events":[]}`, []string{"/events: >= 1"}},
		{"an event twice", "webhook", `{` + url + `,"events":["memory.*","memory.*"]}`, []string{"/events: unique"}},
		{"events of other types", "webhook", `{` + url + `,"events":[{},null]}`, []string{"/events/0: expected string", "/events/1: expected string"}},
		{"types", "webhook", `{"url":1,"events":"memory.*","rateLimit":"5","headers":{"X-A":1}}`,
			[]string{"/events: expected array", "/headers/X-A: expected string", "/rateLimit: expected integer", "/url: expected string"}},
		{"null", "webhook", `{` + minimum + `,"rateLimit":null,"signingSecret":null}`, []string{"/rateLimit: expected integer", "/signingSecret: expected string"}},
		{"a whole number with a fraction", "webhook-b", `{` + minimum + `,"rateLimit":10.0}`, nil},
		{"a whole number with an exponent", "feed-b", "\uFEFF" + `{` + url + `,"maxItems":1e2}`, nil},
		{"too slow", "webhook", `{` + minimum + `,"rateLimit":0}`, []string{"/rateLimit: >= 1"}},
		{"too fast", "webhook", `{` + minimum + `,"rateLimit":1001}`, []string{"/rateLimit: <= 1000"}},
		{"secret pattern", "webhook", `{` + minimum + `,"signingSecret":"s3cr3t-s3cr3t-s3cr3t-s3cr3t-s3cr3t-s3cr3t"}`, []string{"/signingSecret: whsec_ and then base64"}},
		{"secret base64", "webhook", `{` + minimum + `,"signingSecret":"whsec_s3cr3tAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`, []string{"/signingSecret: with its padding"}},
		{"header names", "webhook", `{` + minimum + `,"headers":{"a b":"1","c/d":"1","e.f":"1"}}`, []string{"/headers/a b: this name", "/headers/c~1d: this name"}},
		{"header injection", "webhook", `{` + minimum + `,"headers":{"X.A.B":"1\r\nX-B: s3cr3t","X.A":"ok"}}`, []string{"/headers/X.A.B: printable ASCII"}},
		{"header words", "webhook", `{` + minimum + `,"headers":{"host":"a","Authorization":"Bearer s3cr3t","connection":"x","proxy-connection":"x","x-a":"1","X-A":"2"}}`,
			[]string{"/headers/Authorization: readable", "/headers/connection: one hop", "/headers/host: set by the service", "/headers/proxy-connection: one hop", "/headers/x-a: twice"}},
		{"github", "github", `{"repository":"octo/app","signingSecret":"s3cr3t s3cr3t"}`, nil},
		{"github repository", "github", `{"repository":"octo/app/x"}`, []string{"/repository: octo/app"}},
		{"github dots", "github", `{"repository":"octo/.."}`, []string{"/repository: is not the name"}},
		{"github secret", "github", `{"repository":"octo/app","signingSecret":"s3cr3t"}`, []string{"/signingSecret: >= 8"}},
		{"github enterprise", "github", `{"repository":"octo/app","baseUrl":"https://github.example.com/api/v3"}`, nil},
		{"github base url", "github", `{"repository":"octo/app","baseUrl":"http://10.0.0.1/?a"}`, []string{"/baseUrl: the host's address is not public", "/baseUrl: must not have a query"}},
		{"linear", "linear", `{"team":"ENG","schedule":"1h","signingSecret":"s3cr3t s3cr3t"}`, nil},
		{"linear team", "linear", `{"team":"eng"}`, []string{"/team: capital letters"}},
		{"http", "http", `{"url":"https://example.com/v1","itemsPath":"","idPath":"/id","titlePath":"/a~1b","target":"goal","progressPath":"/p","auth":"header","header":"X-Key","paging":"offset","parameter":"skip","schedule":"30m"}`, nil},
		{"http paths", "http", `{"url":"https://example.com/v1","itemsPath":"data","idPath":"","titlePath":"/a~2","target":"memory"}`,
			[]string{"/idPath: a JSON Pointer", "/itemsPath: or a JSON Pointer", "/titlePath: a JSON Pointer"}},
		{"http parts", "http", `{"url":"http://10.0.0.1/","itemsPath":"","idPath":"/id","titlePath":"/t","target":"memory","progressPath":"/p","auth":"header","header":"Host","paging":"cursor"}`,
			[]string{"/url: the host's address is not public", "/header: is set by the service", "/cursorPath: is needed", "/parameter: is needed", "/progressPath: belongs to the target goal"}},
		{"feed", "feed", `{"url":"https://example.com/feed","maxItems":5}`, nil},
		{"feed url", "feed", `{"url":"file:///etc/passwd"}`, []string{"/url: must be an absolute http"}},
		{"invalid feed url", "feed", `{"url":"https://s3cr3t:s3cr3t@[::1"}`, []string{"/url: absolute"}},
		{"feed secret", "feed", `{"url":"https://example.com/feed","signingSecret":"s3cr3t"}`, []string{"/signingSecret: known are maxItems, schedule, url"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := s.in(t).do("POST", "/"+tt.provider, tt.config)
			s.keepsOut(answer.Body, "s3cr3t")
			if len(tt.want) == 0 {
				if answer.Status != 200 && answer.Status != 201 {
					t.Errorf("status = %d, want 200 or 201: %s", answer.Status, answer.Body)
				}
				return
			}
			problems := answer.WantProblem(422, "invalid").Errors
			if len(problems) != len(tt.want) {
				t.Fatalf("%d problems, want %d: %+v", len(problems), len(tt.want), problems)
			}
			for i, p := range problems {
				pointer, detail, _ := strings.Cut(tt.want[i], ": ")
				if p.Pointer != pointer {
					t.Errorf("problem %d: pointer %q, want %q", i, p.Pointer, pointer)
				}
				if !strings.Contains(p.Detail, detail) {
					t.Errorf("problem %d: detail %q, want one with %q", i, p.Detail, detail)
				}
			}
		})
	}
}

func registry() connector.Registry {
	return catalog.All(outbound.New(outbound.Options{}), time.Now)
}

// refused reports whether the group refuses a configuration.
func refused(t testing.TB, c connector.Connector, config []byte) bool {
	t.Helper()
	problems, err := web.CheckBody(c.Schema(), config)
	if err == nil && len(problems) == 0 {
		problems = c.(connector.Checker).CheckConfig(config)
	}
	return err != nil || len(problems) > 0
}

// TestSchemas checks that every connector's schema is valid and accepts its own examples.
func TestSchemas(t *testing.T) {
	t.Parallel()
	for _, kind := range registry().Kinds() {
		c, _ := registry().Lookup(kind)
		var schema struct{ Examples []json.RawMessage }
		errtest.Must(t, json.Unmarshal(c.Schema(), &schema))
		for _, example := range schema.Examples {
			if refused(t, c, example) {
				t.Errorf("%s: the schema refuses its example %s, want it accepted", kind, example)
			}
		}
	}
}

// FuzzCheck refuses what the schema refuses, and stores and uses every accepted configuration.
func FuzzCheck(f *testing.F) {
	for _, config := range []string{
		`{"url":"https://example.com/","events":["memory.*"],"headers":{"a.b":"c"},"rateLimit":1.0}`, `{"repository":"octo/app","signingSecret":null}`,
		`{"url":"https://example.com/","maxItems":1e2}`, `{"URL":"x","events":[{},[]]}`, `{"headers":{"":{"a":[null]}}}`, `[]`,
	} {
		f.Add("webhook", []byte(config))
		f.Add("github", []byte(config))
		f.Add("feed", []byte(config))
	}
	all, standard := registry(), map[string]*jsonschema.Schema{}
	for _, kind := range all.Kinds() {
		c, _ := all.Lookup(kind)
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Schema()))
		errtest.Must(f, err)
		compiler := jsonschema.NewCompiler()
		errtest.Must(f, compiler.AddResource("config.json", document))
		standard[kind], err = compiler.Compile("config.json")
		errtest.Must(f, err)
	}
	f.Fuzz(func(t *testing.T, kind string, config []byte) {
		c, ok := all.Lookup(kind)
		if !ok || refused(t, c, config) {
			return
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(config))
		errtest.Must(t, err)
		if err := standard[c.Kind()].Validate(value); err != nil {
			t.Fatalf("%s accepts %s, want it refused: %v", kind, config, err)
		}
		stored, _, err := connector.Split(c, config)
		errtest.Must(t, err)
		if len(c.Ports(stored)) == 0 {
			t.Errorf("%s: no ports, want at least one", config)
		}
	})
}
