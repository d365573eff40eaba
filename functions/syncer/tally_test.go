package syncer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/httplist"
	"orgops/shared/provider/manifest"
	"orgops/shared/provider/shelf"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/outbound"
)

// measures gives company a goals whose numbers come from the integration under test, as create-goal does.
func (r *running) measures(sources ...goal.Source) (ids []string) {
	r.T.Helper()
	now := r.Clock.Now()
	due := now.Add(100 * 24 * time.Hour)
	for n, s := range sources {
		s.Provider = r.named
		draft := goal.Draft{
			ExternalID: fmt.Sprint("goal-", n), Title: "Revenue", State: goal.Open, DueAt: &due,
			Measure: &goal.Measure{Start: "30000", Target: "50000", Unit: "EUR", Direction: goal.Up, Source: &s},
		}
		g, _ := goal.Apply(goal.Goal{}, goal.Own, draft, now)
		r.Put("a", goal.Key(g.ID), goal.Entity, g)
		ids = append(ids, g.ID)
	}
	r.Change("a", r.named, func(i *integration.Integration) {
		i.Goals, i.Permissions = ids, append(i.Permissions, integration.GoalUpdate)
	})
	return ids
}

// wantCurrent checks the value of a goal, and returns the goal.
func (r *running) wantCurrent(goalID, want string) (g goal.Goal) {
	r.T.Helper()
	r.Get("a", goal.Key(goalID), &g)
	if got := g.Measure.Current; got != want {
		r.T.Errorf("the goal is at %q, want %q", got, want)
	}
	return g
}

// account is a Stripe account whose invoices were paid with some cents.
type account struct{ cents atomic.Int64 }

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	invoice := func(n int, cents int64) string {
		return fmt.Sprintf(`{"id":"in_%d","object":"invoice","number":"A-%d","status":"paid","amount_paid":%d}`, n, n, cents)
	}
	switch {
	case r.URL.Path != "/v1/invoices":
		fmt.Fprint(w, `{"object":"list","data":[],"has_more":false}`)
	case r.URL.Query().Get("starting_after") == "":
		fmt.Fprintf(w, `{"object":"list","data":[%s,%s],"has_more":true}`, invoice(1, 3000000), invoice(2, 1000010))
	default:
		fmt.Fprintf(w, `{"object":"list","data":[%s],"has_more":false}`, invoice(3, a.cents.Load()))
	}
}

// TestSyncer_Tally_stripe moves a goal by the money of a Stripe account, over the pages of its list. The same number is no write.
func TestSyncer_Tally_stripe(t *testing.T) {
	t.Parallel()
	r := setup(t)
	var stripe account
	stripe.cents.Store(119990)
	server := httptest.NewServer(&stripe)
	t.Cleanup(server.Close)
	r.connect(kindOf(t, server.URL, "stripe"), `{}`, map[string]string{"token": "rk_test"})
	revenue := r.measures(goal.Source{Stream: "invoices", Pointer: "/amount_paid", Aggregate: goal.Sum, Factor: "0.01"})[0]

	r.Clock.Advance(68 * 24 * time.Hour)
	r.Change("a", "stripe", func(i *integration.Integration) { i.Certification.ExpiresAt = r.Clock.Now().Add(24 * time.Hour) })
	r.sync(syncrun.Sandbox)
	r.wantCurrent(revenue, "")
	r.sync(syncrun.Live)
	g := r.wantCurrent(revenue, "41200")
	if got, want := g.Alignment.Reasons[0], "41,200 of 50,000 EUR, 12 days behind, due on "+g.DueAt.Format(time.DateOnly); got != want {
		t.Errorf("reason %q, want %q", got, want)
	}
	stripe.cents.Store(219990)
	r.Clock.Advance(time.Hour)
	r.sync(syncrun.Live)
	moved := r.wantCurrent(revenue, "42200")
	r.Clock.Advance(time.Hour)
	r.sync(syncrun.Live)
	if same := r.wantCurrent(revenue, "42200"); !same.UpdatedAt.Equal(moved.UpdatedAt) {
		t.Errorf("the same number wrote the goal at %v, want no write", same.UpdatedAt)
	}
	var history goal.History
	r.Get("a", goal.HistoryPrefix+revenue, &history)
	want := []goal.Value{{Day: moved.UpdatedAt.Format(time.DateOnly), Current: "42200", Progress: 0.61}}
	if diff := cmp.Diff(want, history.Values); diff != "" {
		t.Errorf("history differs (-want +got):\n%s", diff)
	}
	var about []timeline.Reference
	for _, d := range r.decisions() {
		if d.Action == string(integration.GoalUpdate) {
			about = append(about, d.Resource)
		}
	}
	if diff := cmp.Diff(slices.Repeat([]timeline.Reference{{Type: "goal", ID: revenue}}, 2), about); diff != "" {
		t.Errorf("goals that were decided on differ (-want +got):\n%s", diff)
	}
}

// kindOf returns a connector of the shelf whose requests go to a server of the test.
func kindOf(t *testing.T, server, kind string) connector.Connector {
	t.Helper()
	for _, c := range shelf.All(outbound.New(outbound.Options{Transport: toHost(strings.TrimPrefix(server, "http://"))}), time.Now) {
		if c.Kind() == kind {
			return c
		}
	}
	t.Fatalf("there is no connector %s", kind)
	return nil
}

// toHost sends every request to a host, with its own path.
type toHost string

// RoundTrip implements http.RoundTripper.
func (h toHost) RoundTrip(r *http.Request) (*http.Response, error) {
	other := r.Clone(r.Context())
	other.URL.Scheme, other.URL.Host = "http", string(h)
	return http.DefaultTransport.RoundTrip(other)
}

// rows serves a list of records to the connector http.
func (r *running) rows(answer func(w http.ResponseWriter, req *http.Request)) {
	r.T.Helper()
	server := httptest.NewServer(http.HandlerFunc(answer))
	r.T.Cleanup(server.Close)
	r.connect(httplist.New(r.Client, r.Clock.Now),
		fmt.Sprintf(`{"url":%q,"itemsPath":"","idPath":"/id","titlePath":"/id","target":"memory"}`, server.URL), nil)
}

// TestSyncer_Tally_aggregates reads several numbers of one list, all of which are written with the end of the run.
func TestSyncer_Tally_aggregates(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.rows(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[{"id":1,"n":"40000.5","who":{"e-mail":"a"}},{"id":2,"n":0.25},{"id":3,"n":null,"who":{"e-mail":"b"}}]`)
	})
	all := []goal.Source{
		{Aggregate: goal.Sum, Pointer: "/n"}, {Aggregate: goal.Count, Pointer: "/who/e-mail"}, {Aggregate: goal.Count}, {Aggregate: goal.Last, Pointer: "/n"},
		{Aggregate: goal.Max, Pointer: "/n"}, {Aggregate: goal.Min, Pointer: "/n"}, {Aggregate: goal.Avg, Pointer: "/n"},
	}
	for n := range all {
		all[n].Stream = "list"
	}
	ids := r.measures(all...)
	r.sync(syncrun.Live, full)
	for n, want := range []string{"40000.75", "2", "3", "0.25", "40000.5", "0.25", "20000.375"} {
		r.wantCurrent(ids[n], want)
	}
}

// TestSyncer_Tally_stays keeps the value of a goal, and says why.
func TestSyncer_Tally_stays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		source  goal.Source
		change  func(r *running, goalID string)
		status  int
		state   syncrun.State
		warning string
	}{
		"a run that fails": {status: http.StatusForbidden, state: syncrun.Failed},
		"no such pointer":  {source: goal.Source{Pointer: "/m"}, warning: `the goal "Revenue" keeps its value: no record of list has a number at /m`},
		"no such list":     {source: goal.Source{Stream: "gone"}, warning: `the goal "Revenue" keeps its value: the list gone was not read`},
		"no permission": {change: func(r *running, _ string) {
			r.Change("a", "http", func(i *integration.Integration) { i.Permissions = i.Permissions[:2] })
		}, warning: `the goal "Revenue" keeps its value: the policies deny it`},
		"a goal that is gone":     {change: (*running).deleteGoal},
		"a goal that is closed":   {change: func(r *running, id string) { r.changeGoal(id, func(g *goal.Goal) { g.State = goal.Closed }) }},
		"a goal of another value": {change: func(r *running, id string) { r.changeGoal(id, func(g *goal.Goal) { g.Measure.Source = nil }) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.rows(func(w http.ResponseWriter, _ *http.Request) {
				if tt.status > 0 {
					w.WriteHeader(tt.status)
				}
				fmt.Fprint(w, `[{"id":1,"n":5}]`)
			})
			source := goal.Source{Stream: "list", Pointer: "/n", Aggregate: goal.Sum}
			if tt.source.Pointer != "" {
				source.Pointer = tt.source.Pointer
			}
			if tt.source.Stream != "" {
				source.Stream = tt.source.Stream
			}
			goalID := r.measures(source)[0]
			if tt.change != nil {
				tt.change(r, goalID)
			}
			if tt.state == "" {
				tt.state = syncrun.Succeeded
			}
			rec := r.finish(r.request(syncrun.Live), tt.state)
			var g goal.Goal
			if r.Get("a", goal.Key(goalID), &g) && g.Measure.Current != "" {
				t.Errorf("the goal is at %s, want it to stay without a value", g.Measure.Current)
			}
			if got := strings.Join(rec.Warnings, "; "); got != tt.warning {
				t.Errorf("warnings %q, want %q", got, tt.warning)
			}
		})
	}
}

func (r *running) deleteGoal(goalID string) {
	r.T.Helper()
	c := r.Company("a")
	item, err := c.Get(r.T.Context(), goal.Key(goalID), nil)
	errtest.Must(r.T, err)
	errtest.Must(r.T, c.Commit(r.T.Context(), c.Delete(item.Key, goal.Entity, item.Version)))
}

func (r *running) changeGoal(goalID string, edit func(*goal.Goal)) {
	r.T.Helper()
	var g goal.Goal
	r.Get("a", goal.Key(goalID), &g)
	edit(&g)
	r.Put("a", goal.Key(goalID), goal.Entity, g)
}

// TestSyncer_Tally_whole reads a list as a whole that could be asked for its changes alone, and whether it has changed.
func TestSyncer_Tally_whole(t *testing.T) {
	t.Parallel()
	r := setup(t)
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked = append(asked, req.URL.RequestURI()+" "+req.Header.Get("If-None-Match"))
		w.Header().Set("ETag", `"1"`)
		fmt.Fprint(w, `{"data":[{"id":"1","n":7}]}`)
	}))
	t.Cleanup(server.Close)
	raw := fmt.Sprintf(`{"kind":"tickets","title":"Tickets","description":"Tickets.","base":%q,"streams":[
		{"name":"tickets","request":{"path":"/tickets"},"records":"/data","incremental":{"parameter":"since","form":"epoch-s"},"item":{"target":"memory","id":"/id","title":"/id"}},
		{"name":"people","request":{"path":"/people"},"records":"/data","item":{"target":"memory","id":"/id","title":"/id"}}]}`, server.URL)
	m, err := manifest.Parse(json.RawMessage(raw))
	errtest.Must(t, err)
	r.connect(manifest.New("tickets", func() *manifest.Manifest { return m }, r.Client, r.Clock.Now), `{}`, nil)
	r.sync(syncrun.Live)
	asked = nil
	r.sync(syncrun.Live)
	if whole := slices.Contains(asked, "/tickets ") || slices.Contains(asked, "/people "); whole {
		t.Errorf("a second run without goals asks for %q, want it to ask for changes alone", asked)
	}
	ids := r.measures(goal.Source{Stream: "tickets", Pointer: "/n", Aggregate: goal.Sum}, goal.Source{Stream: "people", Pointer: "/n", Aggregate: goal.Sum})
	asked = nil
	r.sync(syncrun.Live)
	if diff := cmp.Diff([]string{"/tickets ", "/people "}, asked); diff != "" {
		t.Errorf("requests of a run that measures differ (-want +got):\n%s", diff)
	}
	for _, id := range ids {
		r.wantCurrent(id, "7")
	}
	if got := len(worktest.All[goal.Goal](r.Harness, "a", goal.Prefix)); got != 2 {
		t.Errorf("%d goals, want 2", got)
	}
}
