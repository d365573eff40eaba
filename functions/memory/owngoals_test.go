package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/functions/memory"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/testkit/webtest"
)

func mrr(current string) map[string]any {
	return map[string]any{"current": current, "target": "50000", "unit": "EUR", "direction": "up"}
}

// TestOwnGoals makes a goal that a number measures, moves it, reads its history, closes and deletes it.
func TestOwnGoals(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var made, got goal.Goal
	created := s.do("POST", "/goals", map[string]any{"title": " MRR ", "dueAt": s.now.Add(100 * 24 * time.Hour), "measure": mrr("30000")}).Want(201).JSON(&made)
	one := "/goals/" + made.ID
	if got, want := created.Header.Get("Location"), s.at(one); got != want {
		t.Errorf("Location %s, want %s", got, want)
	}
	etag := s.do("GET", one, nil).Want(200).JSON(&got).Header.Get("ETag")
	if diff := cmp.Diff(made, got); diff != "" {
		t.Errorf("the goal differs from the created one (-created +read):\n%s", diff)
	}
	if got := created.Header.Get("ETag"); got != etag {
		t.Errorf("ETag of the creation %s, want %s", got, etag)
	}
	want := goal.Goal{Provider: goal.Own, Title: "MRR", State: goal.Open, Measure: &goal.Measure{Current: "30000", Start: "30000", Target: "50000", Unit: "EUR", Direction: goal.Up}}
	ignored := cmpopts.IgnoreFields(goal.Goal{}, "ID", "ExternalID", "DueAt", "Alignment", "CreatedAt", "UpdatedAt")
	if diff := cmp.Diff(want, got, ignored, cmpopts.IgnoreFields(goal.Measure{}, "ObservedAt")); diff != "" {
		t.Errorf("goal differs (-want +got):\n%s", diff)
	}
	s.do("GET", one, nil, "If-None-Match", etag).Want(304)

	for _, value := range []string{"35000", "40000"} {
		s.now = s.now.Add(24 * time.Hour)
		s.do("PATCH", one, map[string]any{"measure": map[string]any{"current": value}}, "If-Match", etag).Want(200).JSON(&got)
		etag = s.do("GET", one, nil).Want(200).Header.Get("ETag")
	}
	if got.Progress != 0.5 {
		t.Errorf("progress %v, want 0.5", got.Progress)
	}
	s.do("PATCH", one, map[string]any{"title": "x"}, "If-Match", `"1-0"`).WantProblem(412, "stale")
	s.do("PATCH", one, map[string]any{"progress": 1}).WantProblem(422, "invalid")
	s.do("PATCH", one, map[string]any{"measure": map[string]any{"target": "many"}}).WantProblem(422, "invalid")
	s.do("PATCH", one, map[string]any{}).Want(200)

	var history memory.GoalHistory
	read := s.do("GET", one+"/history", nil).Want(200).JSON(&history)
	day := func(back int) string { return s.now.AddDate(0, 0, -back).Format(time.DateOnly) }
	values := []goal.Value{{Day: day(0), Current: "40000", Progress: 0.5}, {Day: day(1), Current: "35000", Progress: 0.25}, {Day: day(2), Current: "30000"}}
	if diff := cmp.Diff(values, history.Items); diff != "" {
		t.Errorf("history differs (-want +got):\n%s", diff)
	}
	s.do("GET", one+"/history", nil, "If-None-Match", read.Header.Get("ETag")).Want(304)

	s.now = s.now.Add(91 * 24 * time.Hour) // the history begins again
	s.do("PATCH", one, map[string]any{"state": "closed", "measure": map[string]any{"current": "50000"}}).Want(200).JSON(&got)
	s.do("GET", one+"/history", nil).Want(200).JSON(&history)
	if diff := cmp.Diff([]goal.Value{{Day: day(0), Current: "50000", Progress: 1}}, history.Items); diff != "" {
		t.Errorf("history after 91 days differs (-want +got):\n%s", diff)
	}
	if got.State != goal.Closed {
		t.Errorf("state %s, want closed", got.State)
	}
	s.do("DELETE", one, nil).Want(204)
	for _, gone := range []*webtest.Response{s.do("GET", one, nil), s.do("DELETE", one, nil), s.do("GET", one+"/history", nil), s.do("PATCH", one, map[string]any{})} {
		gone.WantProblem(404, "not-found")
	}
}

// TestOwnGoals_Refused refuses what is not the company's own, and what is not a goal.
func TestOwnGoals_Refused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	imported := goal.Goal{ID: goal.IDOf("github", "", "1"), Provider: "github", Title: "Ship", State: goal.Open}
	s.put(goal.Key(imported.ID), goal.Entity, imported)
	s.do("PATCH", "/goals/"+imported.ID, map[string]any{"title": "x"}).WantProblem(409, "conflict")
	s.do("DELETE", "/goals/"+imported.ID, nil).WantProblem(409, "conflict")
	var history memory.GoalHistory
	s.do("GET", "/goals/"+imported.ID+"/history", nil).Want(200).JSON(&history)
	if len(history.Items) > 0 {
		t.Errorf("history %v, want none of a goal without a measure", history.Items)
	}
	for name, body := range map[string]map[string]any{
		"no title":      {"measure": mrr("1")},
		"a space":       {"title": " "},
		"no number":     {"title": "MRR", "measure": mrr("much")},
		"another field": {"title": "MRR", "progress": 1},
		"the wrong way": {"title": "MRR", "measure": map[string]any{"start": "60000", "target": "50000", "unit": "EUR", "direction": "up"}},
	} {
		if got := s.do("POST", "/goals", body).Status; got != 422 {
			t.Errorf("%s: status %d, want 422", name, got)
		}
	}
	s.Do("POST", s.at("/goals"), s.BoundToken(s.A.ID, "github"), map[string]any{"title": "x"}).WantProblem(403, "forbidden")
}

// TestOwnGoals_Limit refuses one goal too many, new or opened again, also of those that come at once. It counts neither closed nor imported
// ones.
func TestOwnGoals_Limit(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for n := range goal.MaxOwn - 1 {
		g := goal.Goal{ID: goal.IDOf(goal.Own, "", fmt.Sprint(n)), Provider: goal.Own, Title: "x", State: goal.Open}
		s.put(goal.Key(g.ID), goal.Entity, g)
	}
	for n, g := range []goal.Goal{{Provider: goal.Own, State: goal.Closed}, {Provider: "github", State: goal.Open}} {
		g.ID = goal.IDOf("other", "", fmt.Sprint(n))
		s.put(goal.Key(g.ID), goal.Entity, g)
	}
	var closed []string
	for n := range 4 {
		id := fmt.Sprint("closed-", n)
		s.put(goal.Key(id), goal.Entity, goal.Goal{ID: id, ExternalID: id, Provider: goal.Own, Title: "x", State: goal.Closed})
		closed = append(closed, id)
	}
	answers := make(chan int)
	for n := range 8 {
		method, at, body := "POST", "/goals", map[string]any{"title": "one more"}
		if n%2 == 0 {
			method, at, body = "PATCH", "/goals/"+closed[n/2], map[string]any{"state": "open"}
		}
		go func() { answers <- s.Do(method, s.at(at), s.A.Token, body).Status }()
	}
	counted := map[string]int{}
	for range 8 {
		counted[map[int]string{200: "open", 201: "open", 409: "refused"}[<-answers]]++
	}
	if diff := cmp.Diff(map[string]int{"open": 1, "refused": 7}, counted); diff != "" {
		t.Errorf("answers differ (-want +got):\n%s", diff)
	}
	s.do("PATCH", "/goals/"+closed[0], map[string]any{"title": "a closed one has no limit"}).Want(200)
}

// TestOwnGoals_Reached makes goals whose first value is beyond the target already, told or read. Each can be renamed, moved, closed and
// opened again; only a change of where it leads must make sense.
func TestOwnGoals_Reached(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.connected("stripe", "stripe", `{}`, integration.SyncPull, integration.MemoryUpsert)
	var told, read goal.Goal
	s.do("POST", "/goals", map[string]any{"title": "MRR", "measure": mrr("60000")}).Want(201).JSON(&told)
	s.do("POST", "/goals", sourced(stream("stripe", "invoices", "/total", "sum"))).Want(201).JSON(&read)
	source, _ := read.Source()
	read, _ = goal.Read(read, goal.Reading{Source: source, Current: "50000"}, s.now)
	s.put(goal.Key(read.ID), goal.Entity, read)
	for name, g := range map[string]goal.Goal{"told": told, "read": read} {
		if g.Progress != 1 {
			t.Errorf("%s: progress %v, want 1", name, g.Progress)
		}
		one := "/goals/" + g.ID
		for step, change := range map[string]map[string]any{
			"nothing":        {},
			"a title":        {"title": "Revenue"},
			"a unit":         {"measure": map[string]any{"unit": "USD"}},
			"the same again": {"measure": map[string]any{"start": g.Measure.Start, "target": "50000", "direction": "up"}},
		} {
			if got := s.do("PATCH", one, change); got.Status != 200 {
				t.Errorf("%s: %s: status %d, want 200: %s", name, step, got.Status, got.Body)
			}
		}
		var got goal.Goal
		s.do("PATCH", one, map[string]any{"state": "closed"}).Want(200).JSON(&got)
		if got.Measure.Start != g.Measure.Start {
			t.Errorf("%s: start %s after the changes, want %s", name, got.Measure.Start, g.Measure.Start)
		}
		s.do("PATCH", one, map[string]any{"state": "open"}).Want(200)
		s.do("PATCH", one, map[string]any{"measure": map[string]any{"target": "40000"}}).WantProblem(422, "invalid")
		s.do("PATCH", one, map[string]any{"measure": map[string]any{"start": "80000"}}).WantProblem(422, "invalid")
		s.do("PATCH", one, map[string]any{"measure": map[string]any{"target": "70000"}}).Want(200)
	}
	s.do("PATCH", "/goals/"+told.ID, map[string]any{"progress": 1}).WantProblem(422, "invalid")
	down := map[string]any{"target": "0", "unit": "bugs", "direction": "down"}
	var refused struct {
		Errors []struct{ Pointer, Detail string }
	}
	s.do("POST", "/goals", map[string]any{"title": "No bugs", "measure": down}).Want(422).JSON(&refused)
	if diff := cmp.Diff([]struct{ Pointer, Detail string }{{"/measure/target", "must differ from the start, which is 0"}}, refused.Errors); diff != "" {
		t.Errorf("problems of a goal that nothing was told of differ (-want +got):\n%s", diff)
	}
	down["current"] = "40"
	s.do("POST", "/goals", map[string]any{"title": "No bugs", "measure": down}).Want(201)
}

// TestOwnGoals_ObservedAt keeps the time of the value when something else changes.
func TestOwnGoals_ObservedAt(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var made, got goal.Goal
	s.do("POST", "/goals", map[string]any{"title": "MRR", "measure": mrr("30000")}).Want(201).JSON(&made)
	s.now = s.now.Add(time.Hour)
	s.do("PATCH", "/goals/"+made.ID, map[string]any{"title": "Revenue"}).Want(200).JSON(&got)
	if diff := cmp.Diff(made.Measure, got.Measure); diff != "" {
		t.Errorf("measure differs after another title (-want +got):\n%s", diff)
	}
}
