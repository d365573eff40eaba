package acceptance_test

import (
	"net/http"
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
