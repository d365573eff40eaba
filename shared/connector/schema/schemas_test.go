package schema_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/connector"
	"orgops/shared/connector/feed"
	"orgops/shared/connector/github"
	"orgops/shared/connector/schema"
	"orgops/shared/connector/webhook"
	"orgops/shared/fault"
	"orgops/shared/outbound"
)

const secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

func registry() connector.Registry {
	client := outbound.New(outbound.Options{})
	return connector.New(webhook.New(client), github.New(client), feed.New(client, time.Now))
}

func schemas() schema.Set { return schema.Of(registry()) }

func TestSet_Check(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, provider, config string
		want                   []string // pointer and part of the detail of each problem, in order
	}{
		{"webhook", "webhook", `{"url":"https://example.com/","events":["memory.*","goal.updated"]}`, nil},
		{"everything", "webhook-a", `{"url":"https://example.com/","events":["memory.*"],"description":"d","signingSecret":"` + secret + `","headers":{"X-A":"1"},"rateLimit":1000}`, nil},
		{"not JSON", "webhook", `{"url"`, []string{" one JSON object"}},
		{"not an object", "webhook", `[]`, []string{" must be object"}},
		{"two documents", "webhook", `{} {}`, []string{" one JSON object"}},
		{"nothing", "webhook", `{}`, []string{"/events is required", "/url is required"}},
		{"unknown fields", "webhook", `{"url":"https://example.com/","events":["memory.*"],"URL":"x","ordered":true}`, []string{"/URL unknown field; known are description, events, headers, rateLimit, signingSecret, url", "/ordered unknown field"}},
		{"unknown event", "webhook", `{"url":"https://example.com/","events":["memory.*","goal.updated","memory.deleted"]}`, []string{"/events/2 must be one of memory.created, memory.synced"}},
		{"no events", "webhook", `{"url":"https://example.com/","events":[]}`, []string{"/events needs at least 1 items"}},
		{"an event twice", "webhook", `{"url":"https://example.com/","events":["memory.*","memory.*"]}`, []string{"/events items 0 and 1 are the same"}},
		{"types", "webhook", `{"url":1,"events":"memory.*","rateLimit":"5","headers":{"X-A":1}}`, []string{"/events must be array", "/headers/X-A must be string", "/rateLimit must be integer", "/url must be string"}},
		{"rates", "webhook", `{"url":"https://example.com/","events":["memory.*"],"rateLimit":0}`, []string{"/rateLimit must be at least 1"}},
		{"rates", "webhook", `{"url":"https://example.com/","events":["memory.*"],"rateLimit":1001}`, []string{"/rateLimit must be at most 1000"}},
		{"url", "webhook", `{"url":"http://10.0.0.5/","events":["memory.*"]}`, []string{"/url address 10.0.0.5 is not public"}},
		{"secret pattern", "webhook", `{"url":"https://example.com/","events":["memory.*"],"signingSecret":"s3cr3t-s3cr3t-s3cr3t-s3cr3t-s3cr3t-s3cr3t"}`, []string{"/signingSecret must match ^whsec_"}},
		{"secret base64", "webhook", `{"url":"https://example.com/","events":["memory.*"],"signingSecret":"whsec_s3cr3tAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`, []string{"/signingSecret needs whsec_"}},
		{"header names", "webhook", `{"url":"https://example.com/","events":["memory.*"],"headers":{"a b":"1","c/d":"1"}}`, []string{"/headers/a b this name", "/headers/c~1d this name"}},
		{"header injection", "webhook", `{"url":"https://example.com/","events":["memory.*"],"headers":{"X-A":"1\r\nX-B: 2"}}`, []string{"/headers/X-A must match"}},
		{"header words", "webhook", `{"url":"https://example.com/","events":["memory.*"],"headers":{"host":"a","Authorization":"Bearer s3cr3t","webhook-id":"1","connection":"x","proxy-connection":"x","x-a":"1","X-A":"2"}}`,
			[]string{"/headers/Authorization readable", "/headers/connection one hop", "/headers/host set by the sender", "/headers/proxy-connection one hop", "/headers/webhook-id signature", "/headers/x-a twice"}},
		{"github", "github", `{"repository":"octo/app","signingSecret":"s3cr3t s3cr3t","baseUrl":"https://github.example.com/api/v3"}`, nil},
		{"github repository", "github", `{"repository":"octo/app/x"}`, []string{"/repository must match"}},
		{"github dots", "github", `{"repository":"octo/.."}`, []string{"/repository is not the name"}},
		{"github secret", "github", `{"repository":"octo/app","signingSecret":"s3cr3t"}`, []string{"/signingSecret needs at least 8 characters"}},
		{"github base url", "github", `{"repository":"octo/app","baseUrl":"http://169.254.169.254/"}`, []string{"/baseUrl address 169.254.169.254 is not public"}},
		{"feed", "feed", `{"url":"https://example.com/feed","maxItems":5}`, nil},
		{"feed url", "feed", `{"url":"file:///etc/passwd"}`, []string{"/url must be an absolute http"}},
		{"feed secret", "feed", `{"url":"https://example.com/feed","signingSecret":"x"}`, []string{"/signingSecret unknown field; known are maxItems, url"}},
	}
	r := schemas()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			problems, err := r.Check(tt.provider, json.RawMessage(tt.config))
			if err != nil {
				t.Fatal(err)
			}
			if len(problems) != len(tt.want) {
				t.Fatalf("%d problems, want %d: %+v", len(problems), len(tt.want), problems)
			}
			for i, p := range problems {
				pointer, detail, _ := strings.Cut(tt.want[i], " ")
				if strings.Contains(tt.want[i], "/headers/a b") {
					pointer, detail = "/headers/a b", "this name"
				}
				if p.Pointer != pointer || !strings.Contains(p.Detail, detail) {
					t.Errorf("problem %d: %+v, want %s", i, p, tt.want[i])
				}
				if strings.Contains(p.Detail, "s3cr3t") {
					t.Errorf("problem %d quotes a secret: %s", i, p.Detail)
				}
			}
		})
	}
	if _, err := r.Check("unknown", nil); fault.KindOf(err) != fault.NotFound {
		t.Errorf("an unknown provider: %v", err)
	}
}

// Every example in a schema is one that the schema takes.
func TestSet_schemas(t *testing.T) {
	t.Parallel()
	r, all := registry(), schemas()
	for _, kind := range r.Kinds() {
		c, _ := r.Lookup(kind)
		var schema struct {
			Title, Description string
			Properties         map[string]struct{ Title, Description string }
			Examples           []json.RawMessage
		}
		if err := json.Unmarshal(c.Schema(), &schema); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if schema.Title == "" || schema.Description == "" || len(schema.Examples) == 0 {
			t.Errorf("%s: the schema lacks a title, a description or examples", kind)
		}
		for name, p := range schema.Properties {
			if p.Title == "" || p.Description == "" {
				t.Errorf("%s: %s lacks a title or a description", kind, name)
			}
		}
		for _, example := range schema.Examples {
			if problems, err := all.Check(kind, example); err != nil || len(problems) > 0 {
				t.Errorf("%s: example %s: %v, %v", kind, example, problems, err)
			}
			if len(c.Ports(example)) == 0 {
				t.Errorf("%s asks for no port", kind)
			}
		}
	}
}

func TestSet_Split(t *testing.T) {
	t.Parallel()
	config, secrets, err := schemas().Split("webhook-a", json.RawMessage(`{"url":"https://example.com/?a&b", "signingSecret":"`+secret+`", "events":["memory.*"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"events":["memory.*"],"url":"https://example.com/?a&b"}`; string(config) != want {
		t.Errorf("config %s, want %s", config, want)
	}
	if diff := cmp.Diff(map[string]string{"signingSecret": secret}, secrets); diff != "" {
		t.Error(diff)
	}
}

func TestSet_Changed(t *testing.T) {
	t.Parallel()
	before := `{"url":"https://example.com/","events":["memory.*"],"headers":{"A":"1","B":"2"}}`
	tests := []struct {
		name, after string
		want        []string
	}{
		{"nothing", `{"headers":{"B":"2","A":"1"},"events":["memory.*"],"url":"https://example.com/"}`, []string{}},
		{"what was not certified", `{"url":"https://example.com/","events":["goal.*"],"headers":{"A":"1","B":"2"},"description":"d","rateLimit":5}`, []string{}},
		{"the url", `{"url":"https://example.org/","events":["memory.*"],"headers":{"A":"1","B":"2"}}`, []string{"url"}},
		{"a header gone", `{"url":"https://example.com/","events":["memory.*"],"headers":{"A":"1"}}`, []string{"headers"}},
		{"all headers gone", `{"url":"https://example.com/","events":["memory.*"]}`, []string{"headers"}},
	}
	for _, tt := range tests {
		got, err := schemas().Changed("webhook", json.RawMessage(before), json.RawMessage(tt.after))
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %s %v", tt.name, diff, err)
		}
	}
}

func FuzzSet_Check(f *testing.F) {
	f.Add("webhook", []byte(`{"url":"https://example.com/","events":["memory.*"],"headers":{"a":"b"}}`))
	f.Add("github", []byte(`{"repository":"octo/app"}`))
	f.Add("feed", []byte(`{"url":"https://example.com/","maxItems":1e2}`))
	r, all := registry(), schemas()
	f.Fuzz(func(t *testing.T, provider string, raw []byte) {
		problems, err := all.Check(provider, raw)
		if err != nil || len(problems) > 0 {
			return
		}
		config, _, err := all.Split(provider, raw)
		if err != nil {
			t.Fatalf("what was checked does not split: %v", err)
		}
		c, _ := r.Lookup(provider)
		if len(c.Ports(config)) == 0 {
			t.Errorf("%s: no ports", raw)
		}
	})
}

func BenchmarkSet_Check_first(b *testing.B) {
	config := json.RawMessage(`{"url":"https://example.com/","events":["memory.*"]}`)
	for b.Loop() {
		if _, err := schemas().Check("webhook", config); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSet_Check(b *testing.B) {
	config := json.RawMessage(`{"url":"https://example.com/","events":["memory.*"]}`)
	all := schemas()
	for b.Loop() {
		if _, err := all.Check("webhook", config); err != nil {
			b.Fatal(err)
		}
	}
}
