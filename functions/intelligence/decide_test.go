package intelligence_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"orgops/functions/intelligence"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/insight/assessment"
	"orgops/shared/testkit/webtest"
)

// certifyFirst is the id of the recommendation to certify webhook-0.
func certifyFirst() string {
	return recommendation.ID("certify-integration", timeline.Reference{Type: "integration", ID: "webhook-0"})
}

func dismissal(text string) map[string]any { return map[string]any{"reason": "planned", "text": text} }

// count returns how many recommendations are in a state.
func count(h *webtest.Harness, state string) int {
	var page intelligence.RecommendationPage
	h.Do("GET", path(h, "/recommendations?limit=100&state="+state), h.A.Token, nil).Want(200).JSON(&page)
	return len(page.Items)
}

// TestDecide claims, dismisses and reopens a recommendation, each time with the ETag of the answer before.
func TestDecide(t *testing.T) {
	t.Parallel()
	h := setup(t)
	learn(t, h, sandboxed(h.A.ID, 1))
	one := path(h, "/recommendations/"+certifyFirst())
	etag := h.Do("GET", one, h.A.Token, nil).Want(200).Header.Get("ETag")
	h.Do("GET", one, h.A.Token, nil, "If-None-Match", etag).Want(http.StatusNotModified)
	steps := []struct {
		action string
		body   any
		want   recommendation.State
	}{
		{"claim", nil, recommendation.Claimed},
		{"claim", nil, recommendation.Claimed},
		{"dismiss", dismissal("We replace this endpoint in May."), recommendation.Dismissed},
		{"reopen", nil, recommendation.Active},
	}
	for n, step := range steps {
		answer := h.Do("POST", one+"/"+step.action, h.A.Token, step.body, "If-Match", etag).Want(200)
		var r assessment.Recommendation
		answer.JSON(&r)
		if r.State != step.want {
			t.Errorf("%s: state = %s, want %s", step.action, r.State, step.want)
		}
		if want := int64(n + 1); r.Version != want {
			t.Errorf("%s: version = %d, want %d", step.action, r.Version, want)
		}
		if got := count(h, string(step.want)); got == 0 {
			t.Errorf("%s: no recommendation is listed as %s, want one", step.action, step.want)
		}
		h.Do("POST", one+"/claim", h.A.Token, nil, "If-Match", etag).WantProblem(412, "stale")
		etag = answer.Header.Get("ETag")
		read := h.Do("GET", one, h.A.Token, nil).Want(200)
		if got := read.Header.Get("ETag"); got != etag {
			t.Errorf("%s: ETag of a read = %s, want that of the decision, %s", step.action, got, etag)
		}
		if got, want := string(read.Body), string(answer.Body); got != want {
			t.Errorf("%s: a read gives %s, want %s", step.action, got, want)
		}
	}
}

func TestDecide_Dismissal(t *testing.T) {
	t.Parallel()
	h := setup(t)
	learn(t, h, sandboxed(h.A.ID, 1))
	one := path(h, "/recommendations/"+certifyFirst())
	var r assessment.Recommendation
	h.Do("POST", one+"/dismiss", h.A.Token, dismissal("Only needed in May."), "If-Match", `"0"`).Want(200).JSON(&r)
	if r.Dismissal == nil {
		t.Fatalf("no dismissal in %+v", r)
	}
	if want := now().Add(90 * 24 * time.Hour); !r.Dismissal.Until.Equal(want) {
		t.Errorf("dismissed until %v, want %v", r.Dismissal.Until, want)
	}
	h.Do("POST", one+"/claim", h.A.Token, nil, "If-Match", `"1"`).WantProblem(409, "conflict")
	if got := count(h, "open"); got != 1 {
		t.Errorf("%d open recommendations, want 1: to connect a source", got)
	}
}

func TestDecide_Refused(t *testing.T) {
	t.Parallel()
	h := setup(t)
	learn(t, h, sandboxed(h.A.ID, 1))
	one := path(h, "/recommendations/"+certifyFirst())
	until := func(at time.Time) map[string]any {
		body := dismissal("Only needed in May.")
		body["until"] = at.Format(time.RFC3339)
		return body
	}
	for _, action := range []string{"claim", "dismiss", "reopen"} {
		var body any
		if action == "dismiss" {
			body = dismissal("Only needed in May.")
		}
		h.Do("POST", one+"/"+action, h.A.Token, body).WantProblem(428, "precondition-required")
		h.Do("POST", one+"/"+action, h.A.Token, body, "If-Match", `"4"`).WantProblem(412, "stale")
		h.Do("POST", path(h, "/recommendations/unknown/"+action), h.A.Token, body, "If-Match", `"0"`).WantProblem(404, "not-found")
		reader := h.Token(h.A.ID, user.ScopeIntelligenceRead)
		h.Do("POST", one+"/"+action, reader, body, "If-Match", `"0"`).WantProblem(403, "insufficient-scope")
	}
	for name, body := range map[string]map[string]any{
		"a short text":        dismissal("No."),
		"a text of spaces":    dismissal("no" + strings.Repeat(" ", 20)),
		"a long text":         dismissal(strings.Repeat("x", 4097)),
		"an unknown reason":   {"reason": "mood", "text": "Only needed in May."},
		"a time in the past":  until(now().Add(-time.Hour)),
		"a time in 91 days":   until(now().Add(91 * 24 * time.Hour)),
		"an unknown property": {"reason": "other", "text": "Only needed in May.", "forever": true},
	} {
		answer := h.Do("POST", one+"/dismiss", h.A.Token, body, "If-Match", `"0"`)
		if answer.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: status = %d, want 422: %s", name, answer.Status, answer.Body)
		}
	}
	h.Do("GET", path(h, "/recommendations/unknown"), h.A.Token, nil).WantProblem(404, "not-found")
}

// TestDecide_Ended shows a claimed recommendation as succeeded when its condition has ended, and takes no more decisions.
func TestDecide_Ended(t *testing.T) {
	t.Parallel()
	h := setup(t)
	learn(t, h, sandboxed(h.A.ID, 0))
	source := recommendation.ID("connect-source", timeline.Reference{Type: "company", ID: h.A.ID})
	one := path(h, "/recommendations/"+source)
	h.Do("POST", one+"/claim", h.A.Token, nil, "If-Match", `"0"`).Want(200)
	p := sandboxed(h.A.ID, 0)
	connect(&p)
	relearn(t, h, p)
	var r assessment.Recommendation
	h.Do("GET", one, h.A.Token, nil).Want(200).JSON(&r)
	if r.State != recommendation.Succeeded {
		t.Errorf("state = %s, want succeeded", r.State)
	}
	if got := count(h, "succeeded"); got != 1 {
		t.Errorf("%d succeeded recommendations, want 1", got)
	}
	h.Do("POST", one+"/reopen", h.A.Token, nil, "If-Match", `"1"`).WantProblem(409, "conflict")
}
