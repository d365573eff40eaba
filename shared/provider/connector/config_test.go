package connector_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/provider/connector"
)

const secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

func lookup(t testing.TB, provider string) connector.Connector {
	t.Helper()
	c, err := registry().Find(provider)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Every field of a schema has a title and a description, and every example asks for at least one port.
func TestSchemas(t *testing.T) {
	t.Parallel()
	for _, kind := range registry().Kinds() {
		c := lookup(t, kind)
		var schema struct {
			Title, Description string
			Properties         map[string]struct{ Title, Description string }
			Examples           []json.RawMessage
		}
		if err := json.Unmarshal(c.Schema(), &schema); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if schema.Title == "" || schema.Description == "" || len(schema.Examples) == 0 {
			t.Errorf("%s: schema without a title, a description or examples", kind)
		}
		for name, p := range schema.Properties {
			if p.Title == "" || p.Description == "" {
				t.Errorf("%s: field %s without a title or a description", kind, name)
			}
		}
		for _, example := range schema.Examples {
			if len(c.Ports(example)) == 0 {
				t.Errorf("%s: example %s asks for no port", kind, example)
			}
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	config, secrets, err := connector.Split(lookup(t, "webhook-a"), json.RawMessage(`{"url":"https://example.com/?a&b", "signingSecret":"`+secret+`", "events":["memory.*"]}`))
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

func TestChanged(t *testing.T) {
	t.Parallel()
	before := `{"url":"https://example.com/","events":["memory.*"],"headers":{"A":"1","B":"2"}}`
	tests := []struct {
		name, after string
		want        []string
	}{
		{"nothing", `{"headers":{"B":"2","A":"1"},"events":["memory.*"],"url":"https://example.com/"}`, []string{}},
		{"fields outside the certification", `{"url":"https://example.com/","events":["goal.*"],"headers":{"A":"1","B":"2"},"description":"d","rateLimit":5}`, []string{}},
		{"the url", `{"url":"https://example.org/","events":["memory.*"],"headers":{"A":"1","B":"2"}}`, []string{"url"}},
		{"a header removed", `{"url":"https://example.com/","events":["memory.*"],"headers":{"A":"1"}}`, []string{"headers"}},
		{"all headers removed", `{"url":"https://example.com/","events":["memory.*"]}`, []string{"headers"}},
	}
	for _, tt := range tests {
		got, err := connector.Changed(lookup(t, "webhook"), json.RawMessage(before), json.RawMessage(tt.after))
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %s %v", tt.name, diff, err)
		}
	}
}
