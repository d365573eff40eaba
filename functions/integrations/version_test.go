package integrations_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"orgops/functions/integrations"
	kinds "orgops/shared/domain/event"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// headed is what the data of the first version of memory.created show in the test below.
type headed struct {
	Headline string `json:"headline"`
}

// setupVersions serves the group with a memory.created that has two versions. The first one ends in a year.
func setupVersions(t *testing.T) *service {
	t.Helper()
	s := setup(t)
	own := webtest.New(t)
	s.Harness = own
	table := kinds.Kinds()
	for n := range table {
		if table[n].Name == kinds.MemoryCreated {
			table[n].Former = []kinds.Former{{
				Ends: s.clock.Now().AddDate(1, 0, 0), Shown: reflect.TypeFor[headed](),
				Data: func(data json.RawMessage) (json.RawMessage, error) {
					var next struct{ Title string }
					err := json.Unmarshal(data, &next)
					if err != nil {
						return nil, err
					}
					return json.Marshal(headed{next.Title})
				},
			}}
		}
	}
	of := s.services
	integrations.Register(own.API(), integrations.Deps{
		Connectors: of.Connectors, Client: of.Client, Courier: of.Courier(), Engine: of.Engine, Vault: own.Vault, Now: s.clock.Now, Events: table,
	})
	return s
}

// TestEventTypes_Versions checks that the catalogue shows each version that is sent, with its own schema and example.
func TestEventTypes_Versions(t *testing.T) {
	t.Parallel()
	s := setupVersions(t)
	path := "/companies/" + s.A.ID + "/event-types/memory.created"
	var newest, first eventType
	s.Do("GET", path, s.A.Token, nil).Want(http.StatusOK).JSON(&newest)
	s.Do("GET", path+"?version=1", s.A.Token, nil).Want(http.StatusOK).JSON(&first)
	type sent struct {
		Version int
		EndsAt  time.Time
	}
	want := []sent{{Version: 2}, {1, s.clock.Now().AddDate(1, 0, 0)}}
	for _, e := range []eventType{newest, first} {
		var got []sent
		errtest.Must(t, json.Unmarshal(e.Versions, &got))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("versions differ (-want +got):\n%s", diff)
		}
		example, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.Example))
		errtest.Must(t, err)
		if err := e.compiled(t).Validate(example); err != nil {
			t.Errorf("example of version %d: %v", e.Version, err)
		}
	}
	var data struct{ Data headed }
	errtest.Must(t, json.Unmarshal(first.Example, &data))
	if got, want := [2]any{first.Version, data.Data.Headline}, [2]any{1, "Login fails on Safari"}; got != want {
		t.Errorf("the first version and its headline %v, want %v", got, want)
	}
	s.clock.Advance(366 * 24 * time.Hour)
	s.Do("GET", path+"?version=1", s.A.Token, nil).Want(http.StatusNotFound)
	s.Do("GET", path+"?version=3", s.A.Token, nil).Want(http.StatusNotFound)
}

// TestConfigure_Versions checks that an endpoint keeps the versions with which it was configured until it asks for others.
func TestConfigure_Versions(t *testing.T) {
	t.Parallel()
	s := setupVersions(t)
	at := "/companies/" + s.A.ID + "/integrations/webhook"
	body := func(edit map[string]any) map[string]any {
		all := map[string]any{"url": "http://127.0.0.1:9/in", "events": []string{"memory.*"}, "signingSecret": given}
		for name, value := range edit {
			all[name] = value
		}
		return all
	}
	var got struct {
		Config struct{ EventVersions kinds.Pins }
	}
	for _, step := range []struct {
		name   string
		edit   map[string]any
		status int
		want   kinds.Pins
	}{
		{"new", nil, http.StatusCreated, kinds.Pins{kinds.MemoryCreated: 2}},
		{"the former one", map[string]any{"eventVersions": kinds.Pins{kinds.MemoryCreated: 1}}, http.StatusOK, kinds.Pins{kinds.MemoryCreated: 1}},
		{"configured again", map[string]any{"rateLimit": 5}, http.StatusOK, kinds.Pins{kinds.MemoryCreated: 1}},
		{"another subscription", map[string]any{"events": []string{"goal.*"}}, http.StatusOK, nil},
		{"subscribed again", nil, http.StatusOK, kinds.Pins{kinds.MemoryCreated: 2}},
	} {
		got.Config.EventVersions = nil
		s.Do("POST", at, s.A.Token, body(step.edit)).Want(step.status).JSON(&got)
		if diff := cmp.Diff(step.want, got.Config.EventVersions); diff != "" {
			t.Errorf("%s: versions differ (-want +got):\n%s", step.name, diff)
		}
	}
	var refused struct{ Errors []struct{ Pointer string } }
	s.Do("POST", at, s.A.Token, body(map[string]any{"eventVersions": kinds.Pins{kinds.MemoryCreated: 3, kinds.GoalUpdated: 1}})).Want(http.StatusUnprocessableEntity).JSON(&refused)
	if diff := cmp.Diff([]struct{ Pointer string }{{"/eventVersions/memory.created"}}, refused.Errors); diff != "" {
		t.Errorf("what is refused differs (-want +got):\n%s", diff)
	}

	s.Do("POST", at, s.A.Token, body(map[string]any{"eventVersions": kinds.Pins{kinds.MemoryCreated: 1}})).Want(http.StatusOK)
	var preview struct {
		Items []struct {
			Event, Verdict string
			Body           struct{ Data map[string]any }
		}
	}
	s.Do("POST", at+"/filter/preview", s.A.Token, map[string]any{"filter": `.type == "memory.created"`}).Want(http.StatusOK).JSON(&preview)
	if want := map[string]any{"headline": "Login fails on Safari"}; !cmp.Equal(want, preview.Items[0].Body.Data) {
		t.Errorf("the preview shows %v, want the endpoint's version, %v", preview.Items[0].Body.Data, want)
	}
}
