package intelligence_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/intelligence"
	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/webtest"
)

func now() time.Time { return time.Date(2026, 3, 2, 12, 30, 40, 0, time.UTC) }

func setup(t testing.TB) *webtest.Harness {
	h := webtest.New(t)
	intelligence.Register(h.API(), intelligence.Deps{Reader: assessment.NewReader(now), Now: now})
	return h
}

func path(h *webtest.Harness, rest string) string {
	return "/companies/" + h.A.ID + "/intelligence" + rest
}

// sandboxed returns a context with n webhooks that all wait for certification.
func sandboxed(companyID string, n int) projection.Context {
	p := projection.Empty(companyID)
	p.ContextVersion, p.UpdatedAt = 7, now()
	for i := range n {
		p.Integrations[fmt.Sprintf("webhook-%d", i)] = projection.Integration{
			Kind: "webhook", State: integration.Sandbox, Enabled: true, Ports: []integration.Port{integration.EventDeliver},
			SandboxedAt: now().Add(time.Duration(-i) * time.Hour),
		}
	}
	return p
}

func learn(t testing.TB, h *webtest.Harness, p projection.Context) {
	t.Helper()
	c := store.For(h.Store, h.A.ID)
	if err := c.Commit(t.Context(), projection.Save(c, 0, p)); err != nil {
		t.Fatal(err)
	}
}

// relearn replaces the context that learn stored.
func relearn(t testing.TB, h *webtest.Harness, p projection.Context) {
	t.Helper()
	c := store.For(h.Store, h.A.ID)
	if err := c.Commit(t.Context(), projection.Save(c, 1, p)); err != nil {
		t.Fatal(err)
	}
}

// connect adds a source to a context.
func connect(p *projection.Context) {
	p.Integrations["feed"] = projection.Integration{
		Kind: "feed", State: integration.Sandbox, Enabled: true, Ports: []integration.Port{integration.SyncPull}, SandboxedAt: now(),
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	webtest.GuardAll(t, setup(t))
}

func TestRegister_ETag(t *testing.T) {
	t.Parallel()
	h := setup(t)
	learn(t, h, sandboxed(h.A.ID, 1))
	for _, route := range []string{"/brief", "/context"} {
		first := h.Do("GET", path(h, route), h.A.Token, nil).Want(200)
		var body struct{ ContextVersion int64 }
		if first.JSON(&body); body.ContextVersion != 7 {
			t.Errorf("%s: contextVersion %d, want 7", route, body.ContextVersion)
		}
		etag := first.Header.Get("ETag")
		if want := fmt.Sprintf(`"7.%s.%d"`, assessment.FormulaVersion, now().Unix()/60); etag != want {
			t.Errorf("%s: ETag %s, want %s", route, etag, want)
		}
		if again := h.Do("GET", path(h, route), h.A.Token, nil, "If-None-Match", etag).Want(http.StatusNotModified); len(again.Body) != 0 {
			t.Errorf("%s: 304 with the body %q, want none", route, again.Body)
		}
	}
}

// TestRecommendations_ETag has another tag as soon as a stored state differs, which does not change the context.
func TestRecommendations_ETag(t *testing.T) {
	t.Parallel()
	h := setup(t)
	learn(t, h, sandboxed(h.A.ID, 1))
	first := h.Do("GET", path(h, "/recommendations"), h.A.Token, nil).Want(200)
	etag := first.Header.Get("ETag")
	again := h.Do("GET", path(h, "/recommendations"), h.A.Token, nil, "If-None-Match", etag).Want(http.StatusNotModified)
	if got := again.Header.Get("ETag"); got != etag {
		t.Errorf("304 with the ETag %s, want %s", got, etag)
	}
	if len(again.Body) != 0 {
		t.Errorf("304 with the body %q, want none", again.Body)
	}
	c := store.For(h.Store, h.A.ID)
	dismiss(t, c, recommendation.ID("certify-integration", timeline.Reference{Type: "integration", ID: "webhook-0"}))
	other := h.Do("GET", path(h, "/recommendations"), h.A.Token, nil, "If-None-Match", etag).Want(200)
	if got := other.Header.Get("ETag"); got == etag {
		t.Errorf("the ETag %s is that of the list before the dismissal", got)
	}
}

// dismiss stores the dismissal of a recommendation.
func dismiss(t testing.TB, c store.Company, recommendationID string) {
	t.Helper()
	s := recommendation.Stored{ID: recommendationID}.Dismiss("u", "other", "not now, but later", now().Add(time.Hour), now())
	if err := c.Commit(t.Context(), c.Create(recommendation.Key(recommendationID), recommendation.Entity, s)); err != nil {
		t.Fatal(err)
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	h := setup(t)
	var got projection.Context
	h.Do("GET", path(h, "/context"), h.A.Token, nil).Want(200).JSON(&got)
	if diff := cmp.Diff(projection.Empty(h.A.ID), got); diff != "" {
		t.Errorf("context of a company without facts differs (-want +got):\n%s", diff)
	}
	want := sandboxed(h.A.ID, 2)
	learn(t, h, want)
	got = projection.Context{}
	h.Do("GET", path(h, "/context"), h.A.Token, nil).Want(200).JSON(&got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("context differs (-want +got):\n%s", diff)
	}
}

func TestRecommendations(t *testing.T) {
	t.Parallel()
	h := setup(t)
	learn(t, h, sandboxed(h.A.ID, 50))
	var subjects []string
	query := url.Values{"limit": {"20"}}
	for pages := 1; ; pages++ {
		var page intelligence.RecommendationPage
		h.Do("GET", path(h, "/recommendations?"+query.Encode()), h.A.Token, nil).Want(200).JSON(&page)
		for _, r := range page.Items {
			subjects = append(subjects, r.Rule+" "+r.Subject.ID)
		}
		if page.NextCursor == "" {
			if pages != 3 {
				t.Errorf("%d pages, want 3", pages)
			}
			break
		}
		query.Set("cursor", page.NextCursor)
	}
	want := []string{"connect-source " + h.A.ID}
	for n := range 50 {
		want = append(want, fmt.Sprintf("certify-integration webhook-%d", n))
	}
	slices.Sort(want)
	slices.Sort(subjects)
	if diff := cmp.Diff(want, subjects); diff != "" {
		t.Errorf("recommendations of all pages differ (-want +got):\n%s", diff)
	}

	count := func(query string) int {
		var page intelligence.RecommendationPage
		h.Do("GET", path(h, "/recommendations?limit=100&"+query), h.A.Token, nil).Want(200).JSON(&page)
		return len(page.Items)
	}
	wantCounts := func(counts map[string]int) {
		t.Helper()
		for query, want := range counts {
			if got := count(query); got != want {
				t.Errorf("%d recommendations for %q, want %d", got, query, want)
			}
		}
	}
	wantCounts(map[string]int{"state=active": 51, "state=dismissed": 0, "priority=P2": 51, "priority=P1": 0})
	dismissed := recommendation.ID("certify-integration", timeline.Reference{Type: "integration", ID: "webhook-3"})
	c := store.For(h.Store, h.A.ID)
	dismiss(t, c, dismissed)
	wantCounts(map[string]int{"": 50, "state=dismissed": 1})
	h.Do("GET", path(h, "/recommendations?state=done"), h.A.Token, nil).WantProblem(422, "invalid")
}

func TestBrief(t *testing.T) {
	t.Parallel()
	h := setup(t)
	c := store.For(h.Store, h.A.ID)
	p := sandboxed(h.A.ID, 1)
	for n := range 30 {
		at := now().Add(time.Duration(n-30) * time.Minute)
		e := timeline.Entry{ID: id.At(at, "n"), At: at, Kind: timeline.Note, Title: fmt.Sprint("note ", n), Subject: timeline.Reference{Type: "note", ID: fmt.Sprint(n)}}
		if err := c.Commit(t.Context(), c.Create(timeline.Key(e.ID), timeline.Entity, e)); err != nil {
			t.Fatal(err)
		}
		p.Timeline = append([]timeline.Entry{e}, p.Timeline...)
	}
	p.Timeline = p.Timeline[:projection.MaxTimeline]
	learn(t, h, p)
	changes := func(query string) []assessment.Sentence {
		var b assessment.Brief
		h.Do("GET", path(h, "/brief"+query), h.A.Token, nil).Want(200).JSON(&b)
		return b.Sections[1].Items
	}
	const most = 9 // eight and a note that there are more
	if got := changes(""); len(got) != most {
		t.Errorf("%d changes in a day, want 8 and a note that there are more", len(got))
	} else if want := "And 22 more."; got[most-1].Text != want {
		t.Errorf("the last sentence is %q, want %q", got[most-1].Text, want)
	}
	since := "?since=" + now().Add(-5*time.Minute).Format(time.RFC3339)
	if got := changes(since); len(got) != 5 {
		t.Errorf("%d changes in five minutes, want 5: %+v", len(got), got)
	}
	if got := changes("?since=1900-01-01T00:00:00Z"); len(got) != most {
		t.Errorf("%d changes since 1900, want 8 and a note that there are more", len(got))
	}
	markdown := h.Do("GET", path(h, "/brief"), h.A.Token, nil, "Accept", "text/markdown").Want(200)
	if got, want := markdown.Header.Get("Content-Type"), "text/markdown; charset=utf-8"; got != want {
		t.Errorf("Content-Type = %q, want %q", got, want)
	}
	if got, want := string(markdown.Body), "# Health is 100 of 100. Since 1 March, 30 things changed"; !strings.HasPrefix(got, want) {
		t.Errorf("the Markdown is %q, want it to begin with %q", got, want)
	}
	etag := markdown.Header.Get("ETag")
	h.Do("GET", path(h, "/brief"), h.A.Token, nil, "Accept", "text/markdown", "If-None-Match", etag).Want(http.StatusNotModified)
	h.Do("GET", path(h, "/brief"), h.A.Token, nil, "If-None-Match", etag).Want(200)
	h.Do("GET", path(h, "/brief?since=2027-01-01T00:00:00Z"), h.A.Token, nil).WantProblem(422, "invalid")
}
