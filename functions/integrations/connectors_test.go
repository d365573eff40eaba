package integrations_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/integrations"
)

func TestConnectors(t *testing.T) {
	t.Parallel()
	s := setup(t)
	path := "/companies/" + s.A.ID + "/connectors"
	var got integrations.ConnectorList
	first := s.Do("GET", path, s.A.Token, nil).Want(200).JSON(&got)
	var providers []string
	for _, c := range got.Items {
		providers = append(providers, c.Provider)
		if len(c.Ports) == 0 {
			t.Errorf("%s: no ports, want one at least", c.Provider)
		}
		var schema struct{ Title, Type, Description string }
		if err := json.Unmarshal(c.Configuration, &schema); err != nil {
			t.Errorf("%s: configuration %s: %v", c.Provider, c.Configuration, err)
		}
		if diff := cmp.Diff(c.Title+"|object|"+c.Description, schema.Title+"|"+schema.Type+"|"+schema.Description); diff != "" {
			t.Errorf("%s: the schema differs from the texts (-want +got):\n%s", c.Provider, diff)
		}
	}
	if diff := cmp.Diff(s.services.Connectors.Kinds(), providers); diff != "" {
		t.Errorf("providers differ (-want +got):\n%s", diff)
	}
	s.Do("GET", path, s.A.Token, nil, "If-None-Match", first.Header.Get("ETag")).Want(http.StatusNotModified)
}

// TestConnectors_Configure configures an integration with the example of each connector's schema.
func TestConnectors_Configure(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var got integrations.ConnectorList
	s.Do("GET", "/companies/"+s.A.ID+"/connectors", s.A.Token, nil).Want(200).JSON(&got)
	for _, c := range got.Items {
		var schema struct{ Examples []map[string]any }
		if err := json.Unmarshal(c.Configuration, &schema); err != nil {
			t.Fatal(err)
		}
		i := s.configured(c.Provider, schema.Examples[0], 201)
		for _, port := range i.Permissions {
			if listed := strings.Join(ports(c), " "); !slices.Contains(ports(c), port) {
				t.Errorf("%s: permission %s, want one of the ports %s", c.Provider, port, listed)
			}
		}
	}
}

func ports(c integrations.Connector) (all []string) {
	for _, p := range c.Ports {
		all = append(all, string(p))
	}
	return all
}

// TestConnectors_Bound shows a user of one integration that integration's kind alone.
func TestConnectors_Bound(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for provider, want := range map[string]string{"webhook-billing": "webhook", "github": "github"} {
		var got integrations.ConnectorList
		s.Do("GET", "/companies/"+s.A.ID+"/connectors", s.BoundToken(s.A.ID, provider), nil).Want(200).JSON(&got)
		if len(got.Items) != 1 {
			t.Fatalf("%s: %d connectors, want 1", provider, len(got.Items))
		}
		if got.Items[0].Provider != want {
			t.Errorf("%s: connector %s, want %s", provider, got.Items[0].Provider, want)
		}
	}
}
