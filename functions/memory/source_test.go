package memory_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/testkit/webtest"
)

// connected stores a certified integration, and returns its name.
func (s *service) connected(provider, kind, config string, ports ...integration.Port) string {
	s.t.Helper()
	s.put(integration.Key(provider), integration.Entity, integration.Integration{
		Provider: provider, Kind: kind, State: integration.Certified, Enabled: true, Config: json.RawMessage(config),
		Permissions: ports, Narrowed: kind == "github", CreatedAt: s.now, UpdatedAt: s.now,
	})
	return provider
}

// linked returns which goals an integration measures, and its ports.
func (s *service) linked(provider string) (goals []string, ports string) {
	s.t.Helper()
	i, _, err := integration.Load(s.t.Context(), s.company(), provider)
	if err != nil {
		s.t.Fatal(err)
	}
	return i.Goals, fmt.Sprint(i.Permissions)
}

func sourced(source map[string]any, more ...string) map[string]any {
	measure := map[string]any{"target": "50000", "unit": "EUR", "direction": "up", "source": source}
	for n := 0; n < len(more); n += 2 {
		measure[more[n]] = more[n+1]
	}
	return map[string]any{"title": "MRR", "measure": measure}
}

func stream(provider, stream, pointer, aggregate string) map[string]any {
	return map[string]any{"provider": provider, "stream": stream, "pointer": pointer, "aggregate": aggregate}
}

// TestSource links a goal to a stream's number, leads it to another one, and takes the source away. The integration may update goals as long
// as it measures one.
func TestSource(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.connected("stripe-eu", "stripe", `{}`, integration.SyncPull, integration.MemoryUpsert)
	s.connected("http-shop", "http", `{"url":"https://example.com","target":"memory"}`, integration.SyncPull, integration.MemoryUpsert)
	want := func(step string, eu, shop []string) {
		t.Helper()
		for provider, goals := range map[string][]string{"stripe-eu": eu, "http-shop": shop} {
			got, ports := s.linked(provider)
			if diff := cmp.Diff(goals, got); diff != "" {
				t.Errorf("%s: goals of %s differ (-want +got):\n%s", step, provider, diff)
			}
			wantPorts := "[sync.pull memory.upsert]"
			if len(goals) > 0 {
				wantPorts = "[sync.pull memory.upsert goal.update]"
			}
			if ports != wantPorts {
				t.Errorf("%s: ports of %s %s, want %s", step, provider, ports, wantPorts)
			}
		}
	}
	var made, got goal.Goal
	revenue := stream("stripe-eu", "invoices", "/amount_paid", "sum")
	revenue["factor"] = "0.01"
	s.do("POST", "/goals", sourced(revenue)).Want(201).JSON(&made)
	measure := goal.Measure{Target: "50000", Unit: "EUR", Direction: goal.Up, Source: &goal.Source{Provider: "stripe-eu", Stream: "invoices", Pointer: "/amount_paid", Aggregate: goal.Sum, Factor: "0.01"}}
	if diff := cmp.Diff(&measure, made.Measure); diff != "" {
		t.Errorf("measure differs (-want +got):\n%s", diff)
	}
	one := "/goals/" + made.ID
	want("created", []string{made.ID}, nil)
	s.do("GET", one+"/history", nil).Want(200)
	change := func(measure map[string]any) *webtest.Response {
		return s.do("PATCH", one, map[string]any{"measure": measure})
	}
	change(map[string]any{"current": "5"}).WantProblem(422, "invalid")
	change(map[string]any{"target": "60000"}).Want(200)
	want("another target", []string{made.ID}, nil)
	change(map[string]any{"source": stream("http-shop", "list", "/total", "last")}).Want(200)
	want("another source", nil, []string{made.ID})
	change(map[string]any{"source": nil, "current": "5"}).Want(200).JSON(&got)
	told := &goal.Measure{Current: "5", Start: "5", Target: "60000", Unit: "EUR", Direction: goal.Up, ObservedAt: s.now}
	if diff := cmp.Diff(told, got.Measure); diff != "" {
		t.Errorf("measure without a source differs (-want +got):\n%s", diff)
	}
	want("no source", nil, nil)
	change(map[string]any{"source": stream("stripe-eu", "invoices", "/total", "max")}).Want(200)
	s.do("DELETE", one, nil).Want(204)
	want("deleted", nil, nil)
}

// TestSource_Refused refuses a source that no sync can read, and says where in the request it stands.
func TestSource_Refused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.connected("stripe", "stripe", `{}`, integration.SyncPull, integration.MemoryUpsert)
	s.connected("feed", "feed", `{"url":"https://example.com/feed"}`, integration.SyncPull)
	s.connected("postgresql", "postgresql", `{"streams":[{"name":"revenue"},{"name":"users"}]}`, integration.SyncPull)
	s.connected("sheets", "sheets", `{"spreadsheet":"s","range":"A1"}`, integration.SyncPull)
	i, _, err := integration.Load(t.Context(), s.company(), "sheets")
	if err != nil {
		t.Fatal(err)
	}
	i.Narrowed = true
	s.put(integration.Key("sheets"), integration.Entity, i)
	type problem struct{ Pointer, Detail string }
	for name, tt := range map[string]struct {
		body map[string]any
		want []problem
	}{
		"an unknown provider": {sourced(stream("stripe-us", "invoices", "/total", "sum")),
			[]problem{{"/measure/source/provider", `there is no integration "stripe-us"; configured are feed, postgresql, sheets, stripe`}}},
		"a provider without lists": {sourced(stream("feed", "entries", "/number", "count")),
			[]problem{{"/measure/source/provider", "feed has no lists whose records have numbers; a source can be a list of postgresql, sheets, stripe"}}},
		"an unknown list": {sourced(stream("stripe", "payouts", "/amount", "sum")),
			[]problem{{"/measure/source/stream", "stripe has no such list; it has subscriptions, invoices"}}},
		"an unknown query": {sourced(stream("postgresql", "costs", "/amount", "sum")),
			[]problem{{"/measure/source/stream", "postgresql has no such list; it has revenue, users"}}},
		"no pointer": {sourced(stream("stripe", "invoices", "total", "sum")),
			[]problem{{"/measure/source/pointer", "must be a JSON Pointer (RFC 6901) into a record, such as /amount_paid; / in a name is ~1, and ~ is ~0"}}},
		"a character that no database has": {sourced(stream("stripe", "invoices", "/a\u0000b", "sum")),
			[]problem{{"/measure/source/pointer", "must be a JSON Pointer (RFC 6901) into a record, such as /amount_paid; / in a name is ~1, and ~ is ~0"}}},
		"an unfinished escape": {sourced(stream("stripe", "invoices", "/a~", "sum")),
			[]problem{{"/measure/source/pointer", "must be a JSON Pointer (RFC 6901) into a record, such as /amount_paid; / in a name is ~1, and ~ is ~0"}}},
		"a value as well": {sourced(stream("stripe", "invoices", "/total", "sum"), "current", "3"),
			[]problem{{"/measure/current", "comes from the source; leave it out, or set source to null"}}},
		"narrowed permissions": {sourced(stream("sheets", "rows", "/1", "last")),
			[]problem{{"/measure/source/provider", "the permissions of sheets leave out goal.update; configure it with that permission first"}}},
		"no factor": {sourced(map[string]any{"provider": "stripe", "stream": "invoices", "pointer": "/total", "aggregate": "sum", "factor": "0"}),
			[]problem{{"/measure/source/factor", `must be a decimal number other than 0 as text, such as "0.01"`}}},
	} {
		var got struct{ Errors []problem }
		s.do("POST", "/goals", tt.body).Want(422).JSON(&got)
		if diff := cmp.Diff(tt.want, got.Errors); diff != "" {
			t.Errorf("%s: problems differ (-want +got):\n%s", name, diff)
		}
	}
	s.do("POST", "/goals", sourced(stream("stripe", "invoices", "/total", "median"))).WantProblem(422, "invalid")
}

// TestSource_Limit refuses one more goal of an integration.
func TestSource_Limit(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.connected("stripe", "stripe", `{}`, integration.SyncPull)
	i, _, err := integration.Load(t.Context(), s.company(), "stripe")
	if err != nil {
		t.Fatal(err)
	}
	for n := range goal.MaxSourced - 1 {
		i.Goals = append(i.Goals, goal.IDOf(goal.Own, "", fmt.Sprint(n)))
	}
	s.put(integration.Key("stripe"), integration.Entity, i)
	s.now = s.now.Add(time.Second)
	one := sourced(stream("stripe", "invoices", "/total", "sum"))
	s.do("POST", "/goals", one).Want(201)
	s.do("POST", "/goals", one).WantProblem(409, "conflict")
}

// TestSource_UnusableManifest frees a goal from an integration whose manifest can no longer be used.
// The integration keeps its permissions, because only the manifest tells which of them are its own.
func TestSource_UnusableManifest(t *testing.T) {
	t.Parallel()
	for name, let := range map[string]struct {
		method string
		body   any
		want   int
	}{
		"delete the goal":  {"DELETE", nil, 204},
		"take the source":  {"PATCH", map[string]any{"measure": map[string]any{"source": nil, "current": "5"}}, 200},
		"choose a new one": {"PATCH", map[string]any{"measure": map[string]any{"source": stream("stripe", "invoices", "/total", "sum")}}, 200},
	} {
		s := setup(t)
		s.connected("stripe", "stripe", `{}`, integration.SyncPull)
		g := goal.Goal{ID: "one", ExternalID: "one", Provider: goal.Own, Title: "Tickets", State: goal.Open, Measure: &goal.Measure{
			Target: "50000", Unit: "tickets", Direction: goal.Up, Source: &goal.Source{Provider: "tickets", Stream: "tickets", Aggregate: goal.Count},
		}}
		s.put(goal.Key(g.ID), goal.Entity, g)
		s.put(integration.ManifestKey("tickets"), integration.ManifestEntity, integration.StoredManifest{Kind: "tickets", Manifest: json.RawMessage(`{}`), Digest: "d"})
		s.put(integration.Key("tickets"), integration.Entity, integration.Integration{
			Provider: "tickets", Kind: "tickets", State: integration.Certified, Enabled: true, Manifest: &integration.ManifestRef{Digest: "d"},
			Permissions: []integration.Port{integration.SyncPull, integration.GoalUpdate}, Goals: []string{g.ID}, CreatedAt: s.now, UpdatedAt: s.now,
		})
		if got := s.do(let.method, "/goals/one", let.body); got.Status != let.want {
			t.Errorf("%s: status %d, want %d: %s", name, got.Status, let.want, got.Body)
		}
		goals, ports := s.linked("tickets")
		if len(goals) > 0 {
			t.Errorf("%s: the integration measures %v, want no goal", name, goals)
		}
		if want := "[sync.pull goal.update]"; ports != want {
			t.Errorf("%s: ports %s, want %s", name, ports, want)
		}
	}
}
