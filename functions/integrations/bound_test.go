package integrations_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// TestBound lets a caller that is bound to an integration read and change that integration, and no other.
func TestBound(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configured("github", map[string]any{"repository": "octo/app"}, 201)
	s.configured("feed", map[string]any{"url": "https://example.com/feed"}, 201)
	bound := s.BoundToken(s.A.ID, "github")
	path := "/companies/" + s.A.ID + "/integrations"
	var listed struct{ Items []struct{ Provider string } }
	s.Do("GET", path, bound, nil).Want(200).JSON(&listed)
	if diff := cmp.Diff([]struct{ Provider string }{{"github"}}, listed.Items); diff != "" {
		t.Errorf("integrations (-want +got):\n%s", diff)
	}
	s.Do("GET", path+"/github", bound, nil).Want(200)
	s.Do("POST", path+"/github/disable", bound, nil).Want(200)
	for _, other := range []string{"feed", "webhook", "github-2", "GitHub", "git%68ubs"} {
		s.Do("GET", path+"/"+other, bound, nil).WantProblem(403, "forbidden")
		s.Do("POST", path+"/"+other+"/disable", bound, nil).WantProblem(403, "forbidden")
	}
}

// configureBound configures an integration by a token that is bound to it.
func (s *service) configureBound(provider string, body any) *webtest.Response {
	s.t.Helper()
	return s.Do("POST", s.at("/"+provider), s.BoundToken(s.A.ID, provider), body)
}

// with returns a configuration with a field set, or removed if the value is nil.
func with(config map[string]any, field string, value any) map[string]any {
	changed := maps.Clone(config)
	changed[field] = value
	if value == nil {
		delete(changed, field)
	}
	return changed
}

// TestBound_Widening lets a bound caller narrow its integration, and refuses what lets more in or out.
func TestBound_Widening(t *testing.T) {
	t.Parallel()
	endpoint := map[string]any{
		"url": "https://example.com/hook", "events": []string{"memory.*", "goal.updated"}, "headers": map[string]string{"X-Team": "a", "X-Env": "b"},
		"rateLimit": 5, "permissions": []string{"event.deliver", "memory.upsert"},
	}
	repository := map[string]any{"repository": "octo/app", "permissions": []string{"sync.pull", "memory.upsert"}}
	list := map[string]any{"url": "https://example.com/items", "itemsPath": "/data", "idPath": "/id", "titlePath": "/name", "target": "memory"}
	feed := map[string]any{"url": "https://example.com/feed", "maxItems": 50}
	team := map[string]any{"team": "ENG"}
	database := map[string]any{
		"host": "db.example.com", "port": 5432, "database": "app", "user": "reader",
		"streams": []map[string]any{{"name": "a", "query": "SELECT id, name FROM a", "target": "memory", "idColumn": "id", "titleColumn": "name"}},
	}
	tests := []struct {
		provider string
		config   map[string]any
		field    string
		value    any
		refused  bool
	}{
		{"webhook", endpoint, "url", "https://example.org/hook", true},
		{"webhook", endpoint, "url", "https://example.com/other", true},
		{"webhook", endpoint, "events", []string{"memory.*", "goal.*"}, true},
		{"webhook", endpoint, "events", []string{"memory.*", "goal.updated", "timeline.*"}, true},
		{"webhook", endpoint, "events", []string{"memory.created"}, false},
		{"webhook", endpoint, "events", []string{"goal.updated", "memory.*"}, false},
		{"webhook", endpoint, "headers", map[string]string{"X-Team": "a"}, false},
		{"webhook", endpoint, "headers", nil, false},
		{"webhook", endpoint, "headers", map[string]string{"X-Team": "c"}, true},
		{"webhook", endpoint, "headers", map[string]string{"X-Team": "a", "X-Other": "c"}, true},
		{"webhook", endpoint, "permissions", []string{"event.deliver"}, false},
		{"webhook", endpoint, "permissions", []string{"event.deliver", "goal.update"}, true},
		{"webhook", endpoint, "permissions", nil, false},
		{"webhook", endpoint, "rateLimit", 500, false},
		{"webhook", endpoint, "description", "Billing", false},
		{"webhook", endpoint, "ordered", true, false},
		{"webhook", endpoint, "signingSecret", another, false},
		{"webhook-billing", endpoint, "url", "https://example.org/hook", true},
		{"github", repository, "repository", "octo/other", true},
		{"github", repository, "baseUrl", "https://github.example.com/api/v3", true},
		{"github", repository, "schedule", "1h", false},
		{"github", repository, "signingSecret", "as typed there", false},
		{"github", repository, "permissions", []string{"sync.pull", "memory.upsert", "goal.update"}, true},
		{"http", list, "url", "https://example.com/items?all=1", true},
		{"http", list, "itemsPath", "", true},
		{"http", list, "bodyPath", "/text", true},
		{"http", list, "target", "goal", true},
		{"http", list, "schedule", "1h", false},
		{"feed", feed, "url", "https://example.org/feed", true},
		{"feed", feed, "maxItems", 10, false},
		{"feed", feed, "maxItems", 500, true},
		{"feed", feed, "maxItems", nil, true},
		{"postgresql", database, "port", 1433, true},
		{"postgresql", database, "port", 6432, true},
		{"postgresql", database, "schedule", "1h", false},
		{"linear", team, "team", "OPS", true},
		{"linear", team, "team", nil, true},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.provider, " ", tt.field, " ", tt.value), func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.configured(tt.provider, tt.config, 201)
			s.configureBound(tt.provider, tt.config).Want(200)
			changed := with(tt.config, tt.field, tt.value)
			if !tt.refused {
				s.configureBound(tt.provider, changed).Want(200)
				return
			}
			p := s.configureBound(tt.provider, changed).WantProblem(403, "forbidden")
			if len(p.Errors) == 0 {
				t.Fatalf("the refusal %+v names no field, want /%s", p, tt.field)
			}
			if got, want := p.Errors[0].Pointer, "/"+tt.field; got != want {
				t.Errorf("the refusal is of %s, want %s", got, want)
			}
			for _, want := range []string{tt.field, "a founder has to do it"} {
				if !strings.Contains(p.Detail, want) {
					t.Errorf("detail %q, want one with %q", p.Detail, want)
				}
			}
			s.configured(tt.provider, changed, 200) // a founder may
		})
	}
}

// TestBound_Again refuses the way around: a bound caller deletes its integration and configures it again.
func TestBound_Again(t *testing.T) {
	t.Parallel()
	s := setup(t)
	endpoint := map[string]any{"url": "https://example.com/hook", "events": []string{"memory.*"}}
	bound := s.BoundToken(s.A.ID, "webhook")
	s.configureBound("webhook", endpoint).WantProblem(403, "forbidden")
	s.configured("webhook", endpoint, 201)
	s.Do("DELETE", s.at("/webhook"), bound, nil).Want(204)
	s.configureBound("webhook", endpoint).WantProblem(403, "forbidden")
	s.do("GET", "/webhook", nil).WantProblem(404, "not-found")
}

// TestBound_Enable lets a bound caller enable its integration after the endpoint was gone, and not after a user has disabled it.
func TestBound_Enable(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/hook")
	bound := s.BoundToken(s.A.ID, "webhook")
	enable := func() *webtest.Response { return s.Do("POST", s.at("/webhook/enable"), bound, nil) }
	enable().Want(200) // it is enabled
	for reason, status := range map[string]int{"manual": 403, "imported": 403, "gone": 200, "failing": 200} {
		i, version, err := integration.Load(t.Context(), s.company(), "webhook")
		errtest.Must(t, err)
		i.Disable(reason, s.clock.Now())
		errtest.Must(t, s.company().Commit(t.Context(), s.company().Replace(integration.Key("webhook"), integration.Entity, version, i)))
		enable().Want(status)
		if got, want := s.get("webhook").Enabled, status == 200; got != want {
			t.Errorf("disabled as %s: enabled = %t, want %t", reason, got, want)
		}
	}
}

// TestBound_Others refuses every route of a bound caller on the deliveries and recoveries of another integration.
func TestBound_Others(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/hook")
	s.configure("webhook-b", "https://example.com/b")
	bound := s.BoundToken(s.A.ID, "webhook-b")
	foreign := s.deliver("webhook", dead(s.clock.Now())).EventID
	for _, path := range []string{"", "/retry"} {
		method := "GET"
		if path != "" {
			method = "POST"
		}
		s.Do(method, s.at("/webhook-b/deliveries/"+foreign+path), bound, nil).WantProblem(404, "not-found")
		s.Do(method, s.at("/webhook/deliveries/"+foreign+path), bound, nil).WantProblem(403, "forbidden")
	}
	var r struct{ ID string }
	s.do("POST", "/webhook/recover", map[string]any{"since": s.clock.Now().Add(-time.Hour)}).Want(202).JSON(&r)
	s.Do("GET", s.at("/webhook-b/recoveries/"+r.ID), bound, nil).WantProblem(404, "not-found")
}
