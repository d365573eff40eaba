package memory_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

func TestExplainGoal(t *testing.T) {
	t.Parallel()
	h := setup(t)
	c := store.For(h.Store, h.A.ID)
	g := goal.Goal{ID: goal.IDOf("github", "", "1"), Provider: "github", Title: "Ship", State: goal.Open}
	errtest.Must(t, c.Commit(t.Context(), c.Create(goal.Key(g.ID), goal.Entity, g)))
	one := "/companies/" + h.A.ID + "/goals/" + g.ID + "/explanation"
	text := map[string]any{"text": "The supplier delivers in May."}
	h.Do("GET", one, h.A.Token, nil).WantProblem(404, "not-found")
	for range 2 {
		var e goal.Explanation
		h.Do("PUT", one, h.A.Token, text).Want(200).JSON(&e)
		if got := e.Until.Sub(e.At); got != 90*24*time.Hour {
			t.Errorf("the explanation holds for %v, want 90 days", got)
		}
		var read goal.Explanation
		h.Do("GET", one, h.A.Token, nil).Want(200).JSON(&read)
		if read != e {
			t.Errorf("a read gives %+v, want %+v", read, e)
		}
	}
	h.Do("PUT", one, h.Token(h.A.ID, user.ScopeMemoryRead, user.ScopeMemoryWrite), text).WantProblem(403, "insufficient-scope")
	h.Do("PUT", "/companies/"+h.A.ID+"/goals/unknown/explanation", h.A.Token, text).WantProblem(404, "not-found")
	for name, body := range map[string]map[string]any{
		"a short text":       {"text": "No."},
		"a text of spaces":   {"text": "no" + strings.Repeat(" ", 20)},
		"a time in the past": {"text": "The supplier delivers in May.", "until": "2020-01-01T00:00:00Z"},
		"a time in a decade": {"text": "The supplier delivers in May.", "until": "2096-01-01T00:00:00Z"},
	} {
		answer := h.Do("PUT", one, h.A.Token, body)
		if answer.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: status = %d, want 422: %s", name, answer.Status, answer.Body)
		}
	}
	read := h.Do("GET", one, h.A.Token, nil).Want(200).Header.Get("ETag")
	h.Do("GET", one, h.A.Token, nil, "If-None-Match", read).Want(304)
	h.Do("PUT", one, h.A.Token, text, "If-None-Match", "*").WantProblem(412, "already-exists")
	h.Do("PUT", one, h.A.Token, text, "If-Match", read).Want(200)
	for _, method := range []string{"PUT", "DELETE"} {
		refused := h.Do(method, one, h.A.Token, text, "If-Match", read)
		refused.WantProblem(412, "stale")
		if got, want := refused.Header.Get("ETag"), h.Do("GET", one, h.A.Token, nil).Header.Get("ETag"); got != want {
			t.Errorf("%s: ETag of the refusal %s, want %s", method, got, want)
		}
	}
	h.Do("DELETE", one, h.A.Token, nil).Want(204)
	h.Do("PUT", one, h.A.Token, text, "If-Match", "*").WantProblem(412, "stale")
	h.Do("DELETE", one, h.A.Token, nil).WantProblem(404, "not-found")
}
