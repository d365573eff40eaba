package connector_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
)

const secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

func lookup(t testing.TB, provider string) connector.Connector {
	t.Helper()
	c, ok := registry().Lookup(provider)
	if !ok {
		t.Fatalf("no connector of %s, want one", provider)
	}
	return c
}

// Every field of a schema has a title and a description, and every example asks for at least one port.
func TestConnector_Schema(t *testing.T) {
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
		texts := map[string]string{"title": schema.Title, "description": schema.Description}
		for name, p := range schema.Properties {
			texts["title of "+name], texts["description of "+name] = p.Title, p.Description
		}
		for name, text := range texts {
			if text == "" {
				t.Errorf("%s: the schema has no %s", kind, name)
			}
		}
		if len(schema.Examples) == 0 {
			t.Errorf("%s: the schema has no examples", kind)
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
		t.Errorf("config = %s, want %s", config, want)
	}
	if diff := cmp.Diff(map[string]string{"signingSecret": secret}, secrets); diff != "" {
		t.Errorf("secrets differ (-want +got):\n%s", diff)
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
		errtest.Must(t, err)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: changed fields differ (-want +got):\n%s", tt.name, diff)
		}
	}
}
