package missioncontrol_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/functions/missioncontrol"
	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/webtest"
)

func now() time.Time { return time.Date(2026, 3, 2, 12, 30, 40, 0, time.UTC) }

func setup(t testing.TB) *webtest.Harness {
	h := webtest.New(t)
	missioncontrol.Register(h.API(), missioncontrol.Deps{Reader: assessment.NewReader(now)})
	return h
}

func path(h *webtest.Harness, rest string) string {
	return "/companies/" + h.A.ID + "/mission-control" + rest
}

// learn stores a context for the company.
func learn(t testing.TB, h *webtest.Harness, p projection.Context) {
	t.Helper()
	c := store.For(h.Store, h.A.ID)
	_, version, err := projection.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(t.Context(), projection.Save(c, version, p)); err != nil {
		t.Fatal(err)
	}
}

func known(companyID string, version int64) projection.Context {
	p := projection.Empty(companyID)
	p.ContextVersion, p.UpdatedAt = version, now().Add(-time.Minute)
	p.Integrations["webhook"] = projection.Integration{
		Kind: "webhook", State: integration.Certified, Enabled: true, Ports: []integration.Port{integration.EventDeliver},
		CertifiedPorts: []integration.Port{integration.EventDeliver}, CertifiedAt: now().Add(-time.Hour),
		CertifiedUntil: now().Add(80 * 24 * time.Hour), SecretAt: now().Add(-time.Hour),
	}
	return p
}

func TestGuard(t *testing.T) {
	t.Parallel()
	webtest.GuardAll(t, setup(t))
}

func TestRegister_NoFacts(t *testing.T) {
	t.Parallel()
	h := setup(t)
	var health assessment.HealthScore
	h.Do("GET", path(h, "/health"), h.A.Token, nil).Want(200).JSON(&health)
	other := cmpopts.IgnoreFields(assessment.HealthScore{}, "AsOf", "FormulaVersion", "LowerBound", "Coverage", "Checks")
	if diff := cmp.Diff(assessment.HealthScore{Status: assessment.Unknown}, health, other); diff != "" {
		t.Errorf("health differs (-want +got):\n%s", diff)
	}
	if len(health.Checks) == 0 {
		t.Error("health has no checks, want every check")
	}
	var readiness assessment.Readiness
	h.Do("GET", path(h, "/readiness"), h.A.Token, nil).Want(200).JSON(&readiness)
	if got, want := [2]int{readiness.Level, len(readiness.Levels)}, [2]int{0, 4}; got != want {
		t.Errorf("level and number of levels = %v, want %v", got, want)
	}
	h.Do("GET", path(h, "/dashboard"), h.A.Token, nil).Want(200)
	var page missioncontrol.TimelinePage
	h.Do("GET", path(h, "/timeline"), h.A.Token, nil).Want(200).JSON(&page)
	if diff := cmp.Diff([]timeline.Entry{}, page.Items); diff != "" {
		t.Errorf("timeline differs (-want +got):\n%s", diff)
	}
}

func TestRegister_ETag(t *testing.T) {
	t.Parallel()
	h := setup(t)
	learn(t, h, known(h.A.ID, 7))
	for _, route := range []string{"/health", "/readiness", "/dashboard"} {
		first := h.Do("GET", path(h, route), h.A.Token, nil).Want(200)
		want := fmt.Sprintf(`"7.%s.%d"`, assessment.FormulaVersion, now().Unix()/60)
		if got := first.Header.Get("ETag"); got != want {
			t.Errorf("%s: ETag %s, want %s", route, got, want)
		}
		var body struct{ ContextVersion int64 }
		if first.JSON(&body); body.ContextVersion != 7 {
			t.Errorf("%s: contextVersion %d, want 7", route, body.ContextVersion)
		}
		again := h.Do("GET", path(h, route), h.A.Token, nil, "If-None-Match", want).Want(http.StatusNotModified)
		if len(again.Body) != 0 {
			t.Errorf("%s: 304 with the body %q, want none", route, again.Body)
		}
		if got := again.Header.Get("ETag"); got != want {
			t.Errorf("%s: 304 with the ETag %s, want %s", route, got, want)
		}
	}
	learn(t, h, known(h.A.ID, 8))
	h.Do("GET", path(h, "/health"), h.A.Token, nil, "If-None-Match", `"7.1.0"`).Want(200)
}

// TestTimeline_ETag has another tag as soon as the entries differ. A note is committed before the context has counted it.
func TestTimeline_ETag(t *testing.T) {
	t.Parallel()
	h := setup(t)
	learn(t, h, known(h.A.ID, 7))
	c := store.For(h.Store, h.A.ID)
	seen := map[string]string{}
	for n := range 3 {
		first := h.Do("GET", path(h, "/timeline"), h.A.Token, nil).Want(200)
		etag := first.Header.Get("ETag")
		if before, ok := seen[etag]; ok {
			t.Errorf("%d entries: the ETag %s is that of the answer %s", n, etag, before)
		}
		seen[etag] = string(first.Body)
		again := h.Do("GET", path(h, "/timeline"), h.A.Token, nil, "If-None-Match", etag).Want(http.StatusNotModified)
		if got := again.Header.Get("ETag"); got != etag {
			t.Errorf("%d entries: 304 with the ETag %s, want %s", n, got, etag)
		}
		if len(again.Body) != 0 {
			t.Errorf("%d entries: 304 with the body %q, want none", n, again.Body)
		}
		at := now().Add(time.Duration(-n) * time.Minute)
		e := timeline.Entry{ID: id.At(at, "n"), At: at, Kind: timeline.Note, Title: fmt.Sprint(n)}
		if err := c.Commit(t.Context(), c.Create(timeline.Key(e.ID), timeline.Entity, e)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	h := setup(t)
	learn(t, h, known(h.A.ID, 3))
	c := store.For(h.Store, h.A.ID)
	var want []string
	for n := range 130 {
		at := now().Add(time.Duration(n-200) * time.Minute)
		e := timeline.Entry{ID: id.At(at, "n"), At: at, Kind: timeline.Note, Title: fmt.Sprint(n)}
		e.Actor, e.Subject = timeline.Reference{Type: "user", ID: "u"}, timeline.Reference{Type: "note", ID: fmt.Sprint(n)}
		if n%2 == 0 {
			e.Kind, e.Actor.Type = timeline.GoalUpdated, "integration"
		}
		want = append([]string{e.Title}, want...)
		if err := c.Commit(t.Context(), c.Create(timeline.Key(e.ID), timeline.Entity, e)); err != nil {
			t.Fatal(err)
		}
	}
	list := func(query string) (titles []string, next string) {
		var page missioncontrol.TimelinePage
		h.Do("GET", path(h, "/timeline"+query), h.A.Token, nil).Want(200).JSON(&page)
		if page.ContextVersion != 3 {
			t.Errorf("contextVersion %d, want 3", page.ContextVersion)
		}
		for _, e := range page.Items {
			titles = append(titles, e.Title)
		}
		return titles, page.NextCursor
	}
	first, next := list("?limit=1000")
	if diff := cmp.Diff(want[:100], first); diff != "" {
		t.Errorf("first page differs (-want +got):\n%s", diff)
	}
	second, next := list("?cursor=" + next)
	if diff := cmp.Diff(want[100:], second); diff != "" {
		t.Errorf("second page differs (-want +got):\n%s", diff)
	}
	if next != "" {
		t.Errorf("cursor after the last page %q, want none", next)
	}
	if got, _ := list(""); len(got) != 50 {
		t.Errorf("%d entries by default, want 50", len(got))
	}
	var notes []string
	for n := 129; n > 0; n -= 2 {
		notes = append(notes, fmt.Sprint(n))
	}
	at := func(n int) string { return now().Add(time.Duration(n-200) * time.Minute).Format(time.RFC3339) }
	for query, want := range map[string][]string{
		"?kind=note&limit=100":                                   notes,
		"?actor=user:u&limit=100":                                notes,
		"?actor=user&limit=100":                                  notes,
		"?subject=note:12":                                       {"12"},
		"?subject=note:12&actor=user":                            nil,
		"?since=" + at(10) + "&until=" + at(12):                  {"12", "11", "10"},
		"?since=0001-01-01T00:00:00Z&until=1950-01-01T00:00:00Z": nil, // before the first id
	} {
		got, _ := list(query)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("entries for %q differ (-want +got):\n%s", query, diff)
		}
	}
	h.Do("GET", path(h, "/timeline?since="+at(12)+"&until="+at(10)), h.A.Token, nil).WantProblem(422, "invalid")
	h.Do("GET", path(h, "/timeline?actor=U:"), h.A.Token, nil).WantProblem(422, "invalid")
	h.Do("GET", path(h, "/timeline?kind=gossip"), h.A.Token, nil).WantProblem(422, "invalid")
	for _, kind := range timeline.Kinds() {
		list("?kind=" + string(kind))
	}
}

// TestTimeline_Stable pages through the timeline, with different limits and filters, while another goroutine adds entries
// before and after the cursor's place: each entry that was there at first is seen once, newest first.
func TestTimeline_Stable(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			pages(t, rand.New(rand.NewPCG(seed, 2)))
		})
	}
}

func pages(t *testing.T, r *rand.Rand) {
	h := setup(t)
	c := store.For(h.Store, h.A.ID)
	add := func(at time.Time, title string) {
		e := timeline.Entry{ID: id.At(at, title), At: at, Kind: timeline.Note, Title: title}
		if err := c.Commit(t.Context(), c.Create(timeline.Key(e.ID), timeline.Entity, e)); err != nil {
			t.Error(err)
		}
	}
	var want, got []string
	for n := range 60 {
		add(now().Add(time.Duration(-n)*time.Minute), fmt.Sprint(n))
		want = append(want, fmt.Sprint(n))
	}
	late, done := make(chan time.Duration), make(chan struct{})
	go func() {
		defer close(done)
		for n := range late {
			add(now().Add(-n), "late")
		}
	}()
	query := fmt.Sprintf("/timeline?limit=%d%s", 1+r.IntN(15), []string{"", "&kind=note"}[r.IntN(2)])
	for cursor, more := "", true; more; more = cursor != "" {
		late <- time.Duration(r.IntN(3600))*time.Second + time.Duration(len(got))*time.Millisecond
		var page missioncontrol.TimelinePage
		h.Do("GET", path(h, query+"&cursor="+cursor), h.A.Token, nil).Want(200).JSON(&page)
		for _, e := range page.Items {
			if e.Title != "late" {
				got = append(got, e.Title)
			}
		}
		cursor = page.NextCursor
	}
	close(late)
	<-done
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries of all pages differ (-want +got):\n%s", diff)
	}
}

func BenchmarkHealth(b *testing.B) {
	h := setup(b)
	learn(b, h, known(h.A.ID, 7))
	b.ReportAllocs()
	for range b.N {
		h.Do("GET", path(h, "/health"), h.A.Token, nil).Want(200)
	}
}
