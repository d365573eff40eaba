package acceptance_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestDelivery_Replaced deletes an endpoint while a retry waits, and configures another one under its name. Neither the retry nor a
// recovery nor a replay reaches the other one, which shows no results of the former endpoint.
func TestDelivery_Replaced(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Replaced")
	secret, next, source := newSecret(t), newSecret(t), newSecret(t)
	former, other, publisher := receive(t, secret), receive(t, next), receive(t, source)
	tn.subscribe("webhook", publisher.url, source, "goal.*")
	tn.subscribe("webhook-x", former.url, secret, "memory.*")
	former.respond(func(received) int { return http.StatusInternalServerError })
	tn.post(source, "msg-1", ticket(1))
	eventually(t, "a retry waits", func() bool { return len(tn.attempts("webhook-x", "&state=scheduled")) == 1 })
	tn.do("DELETE", tn.at("/integrations/webhook-x"), nil).want(204)
	tn.subscribe("webhook-x", other.url, next, "memory.*")
	since := map[string]any{"since": time.Now().Add(-time.Hour)}
	tn.do("POST", tn.at("/integrations/webhook-x/recover"), since).want(202)
	eventually(t, "the retry has ended", func() bool { return len(tn.attempts("webhook-x", "&state=held")) == 1 })
	old := tn.attempts("webhook-x", "")[0]
	if old.HeldBecause != "deleted" {
		t.Errorf("held because of %q, want deleted", old.HeldBecause)
	}
	tn.do("POST", tn.at("/integrations/webhook-x/recover"), since).want(202)
	tn.do("POST", tn.at("/operations/dead-letters/replay"), since).want(202)
	tn.do("POST", tn.at("/integrations/webhook-x/deliveries/"+old.DeliveryID+"/retry"), nil).want(409)
	tn.post(source, "msg-2", ticket(2))
	eventually(t, "an event of the other endpoint arrives", func() bool { return len(other.deliveries()) > 0 })
	if got := len(other.deliveries()); got != 1 {
		t.Errorf("the other endpoint received %d events, want 1", got)
	}
	eventually(t, "the rate is that of the other endpoint", func() bool {
		var i struct {
			Health struct{ SuccessRate24h *float64 }
		}
		tn.do("GET", tn.at("/integrations/webhook-x"), nil).want(200).json(&i)
		return i.Health.SuccessRate24h != nil && *i.Health.SuccessRate24h == 1
	})
}

// TestGoals_Reconnected connects a list of goals, deletes the connection and makes it again. A deleted integration's goals are kept for
// reading, and count nowhere.
func TestGoals_Reconnected(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Reconnected")
	list := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `[{"id":1,"name":"Late","due":"2026-01-01"},{"id":2,"name":"Undated"},{"id":3,"name":"Done","done":1}]`)
	}))
	t.Cleanup(list.Close)
	connect := func() {
		t.Helper()
		tn.do("POST", tn.at("/integrations/http"), map[string]any{
			"url": list.URL, "itemsPath": "", "idPath": "/id", "titlePath": "/name", "dueAtPath": "/due", "progressPath": "/done", "target": "goal",
		}).want(201)
		tn.certify("http")
		tn.sync("http")
	}
	want := func(step string, open, closed, misaligned, listed, kept int) {
		t.Helper()
		var got [5]int
		eventually(t, step, func() bool {
			var c struct {
				Goals struct {
					Open, Closed, Misaligned, Total int
					Listed                          []any
				}
			}
			tn.do("GET", tn.at("/intelligence/context"), nil).want(200).json(&c)
			got = [5]int{c.Goals.Open, c.Goals.Closed, c.Goals.Misaligned, len(c.Goals.Listed), c.Goals.Total}
			return got == [5]int{open, closed, misaligned, listed, kept}
		})
		var advice struct{ Items []struct{ Rule string } }
		tn.do("GET", tn.at("/intelligence/recommendations"), nil).want(200).json(&advice)
		reviews := 0
		for _, r := range advice.Items {
			if r.Rule == "review-goal" {
				reviews++
			}
		}
		if reviews != misaligned {
			t.Errorf("%s: %d recommendations to review a goal, want %d", step, reviews, misaligned)
		}
		for query, want := range map[string]int{"": kept, "?integration=current": open + closed, "?integration=deleted": kept - open - closed} {
			var page struct{ Items []any }
			if tn.do("GET", tn.at("/goals"+query), nil).want(200).json(&page); len(page.Items) != want {
				t.Errorf("%s: %d goals for %q, want %d", step, len(page.Items), query, want)
			}
		}
	}
	connect()
	want("the goals are open", 2, 1, 1, 2, 3)
	tn.do("DELETE", tn.at("/integrations/http"), nil).want(204)
	want("no goal is open", 0, 0, 0, 0, 3)
	connect()
	want("the goals are open once", 2, 1, 1, 2, 6)
}
