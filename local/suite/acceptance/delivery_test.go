package acceptance_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// attempt holds an attempt at a delivery as the API lists it.
type attempt struct {
	DeliveryID, Event, State, HeldBecause string
	Attempt, Status                       int
	NextAttemptAt                         *time.Time
}

func (tn *tenant) attempts(provider, query string) []attempt {
	tn.t.Helper()
	var page struct{ Items []attempt }
	tn.do("GET", tn.at("/integrations/"+provider+"/deliveries?limit=100"+query), nil).want(200).json(&page)
	return page.Items
}

func TestDelivery_Retry(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Retry")
	secret := newSecret(t)
	r := receive(t, secret)
	tn.subscribe("webhook", r.url, secret, "memory.*")
	var tries int
	r.respond(func(received) int {
		if tries++; tries == 1 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	began := time.Now()
	tn.post(secret, "msg-1", ticket(1))
	eventually(t, "a failed delivery is scheduled", func() bool {
		all := tn.attempts("webhook", "&state=scheduled")
		return len(all) == 1 && all[0].Attempt == 1 && all[0].Status == 500 && all[0].NextAttemptAt != nil
	})
	eventually(t, "it is delivered", func() bool { return len(tn.attempts("webhook", "&state=delivered")) == 1 })
	got := r.deliveries()
	if len(got) != 2 {
		t.Fatalf("%d deliveries, want 2", len(got))
	}
	type sent struct{ id, body string }
	first, again := sent{got[0].header.Get("Webhook-Id"), string(got[0].body)}, sent{got[1].header.Get("Webhook-Id"), string(got[1].body)}
	if again != first {
		t.Fatalf("the second delivery = %+v, want the first again, %+v", again, first)
	}
	// 5 s, minus 20 % at most. The machine's load may add to it.
	if waited := got[1].at.Sub(got[0].at); waited < 4*time.Second {
		t.Errorf("retried after %v, want at least 4 s", waited)
	}
	t.Logf("delivered %v after the event", time.Since(began))
	type log struct{ Attempts []struct{ State string } }
	var one log
	tn.do("GET", tn.at("/integrations/webhook/deliveries/"+got[0].ID), nil).want(200).json(&one)
	if diff := cmp.Diff(log{[]struct{ State string }{{"failed"}, {"delivered"}}}, one); diff != "" {
		t.Errorf("log of attempts (-want +got):\n%s", diff)
	}
}

func TestDelivery_Gone(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Gone")
	secret := newSecret(t)
	r := receive(t, secret)
	tn.subscribe("webhook", r.url, secret, "memory.*")
	r.respond(func(received) int { return http.StatusGone })
	tn.post(secret, "msg-1", ticket(1))
	var i struct {
		Enabled  bool
		Disabled struct{ Reason string }
	}
	eventually(t, "410 disables the endpoint", func() bool {
		tn.do("GET", tn.at("/integrations/webhook"), nil).want(200).json(&i)
		return !i.Enabled
	})
	if i.Disabled.Reason == "" {
		t.Errorf("no reason for the disabling: %+v", i)
	}
	eventually(t, "the delivery has failed", func() bool { return len(tn.attempts("webhook", "&state=failed")) == 1 })
	tn.do("POST", tn.at("/integrations/webhook/enable"), nil).want(200)
	r.respond(nil)
	tn.do("POST", tn.at("/integrations/webhook/recover"), map[string]any{"since": time.Now().Add(-time.Hour)}).want(202)
	eventually(t, "the failed delivery is recovered", func() bool { return len(tn.attempts("webhook", "&state=delivered")) == 1 })
}

func TestDelivery_Held(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Sandbox")
	secret, source := newSecret(t), newSecret(t)
	r := receive(t, secret)
	publisher := receive(t, source)
	tn.subscribe("webhook", publisher.url, source, "goal.*")
	tn.register("webhook-held", r.url, secret, "memory.*")
	const n = 3
	for i := range n {
		tn.post(source, "msg-"+string(rune('a'+i)), ticket(i))
	}
	eventually(t, "deliveries are held", func() bool { return len(tn.attempts("webhook-held", "&state=held")) == n })
	for _, a := range tn.attempts("webhook-held", "") {
		if a.HeldBecause != "sandbox" {
			t.Errorf("held because of %q, want sandbox: %+v", a.HeldBecause, a)
		}
	}
	if got := r.deliveries(); len(got) != 0 {
		t.Fatalf("%d events were sent to an endpoint in the sandbox, want 0", len(got))
	}
	var report struct {
		Recover *struct {
			Held         int
			Method, Href string
		}
	}
	tn.certify("webhook-held")
	// The projection counts the held deliveries, and lags behind the store.
	eventually(t, "the certification offers to send the held deliveries", func() bool {
		tn.do("GET", tn.at("/integrations/webhook-held/certification"), nil).want(200).json(&report)
		return report.Recover != nil && report.Recover.Held == n
	})
	if got := r.deliveries(); len(got) != 0 {
		t.Errorf("a certification alone sent %d held deliveries, want 0", len(got))
	}
	tn.do(report.Recover.Method, report.Recover.Href, map[string]any{"since": time.Now().Add(-time.Hour)}).want(202)
	eventually(t, "the held deliveries arrive", func() bool { return len(r.deliveries("memory.created")) == n })
}

// TestCertification_CarelessReceiver keeps a receiver that accepts every delivery in the sandbox.
func TestCertification_CarelessReceiver(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Careless")
	careless := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	tn.register("webhook", careless, newSecret(t), "memory.*")
	var report struct {
		State  string
		Checks []struct{ ID, Status, Reason string }
	}
	tn.do("POST", tn.at("/integrations/webhook/certification"), nil).want(200).json(&report)
	if report.State != "sandbox" {
		t.Errorf("state = %s, want sandbox: %+v", report.State, report)
	}
	failed := 0
	for _, c := range report.Checks {
		if c.Status == "fail" {
			failed++
			if !strings.Contains(c.Reason, "webhook-") {
				t.Errorf("reason of %s = %q, want one that names the headers to verify", c.ID, c.Reason)
			}
		}
	}
	if failed == 0 {
		t.Error("no check failed")
	}
}

// TestSecrets_WriteOnly checks that a secret is shown once and that no later answer holds it.
func TestSecrets_WriteOnly(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Secretive")
	var created struct{ SigningSecret string }
	tn.do("POST", tn.at("/integrations/webhook"), map[string]any{"url": "http://127.0.0.1:9/", "events": []string{"memory.*"}}).want(201).json(&created)
	if !strings.HasPrefix(created.SigningSecret, "whsec_") {
		t.Fatalf("no secret was generated: %+v", created)
	}
	const credential = "a-write-only-credential"
	s.Log.KeepOut(created.SigningSecret)
	s.Log.KeepOut(credential)
	tn.do("PUT", tn.at("/integrations/webhook/credentials"), map[string]any{"credentials": map[string]string{"token": credential}}).want(204)
	for _, path := range []string{"/integrations", "/integrations/webhook", "/intelligence/context", "/mission-control/timeline", "/mission-control/dashboard"} {
		a := tn.do("GET", tn.at(path), nil).want(200)
		for _, secret := range []string{created.SigningSecret, credential} {
			if strings.Contains(string(a.body), secret) {
				t.Errorf("GET %s shows a secret", path)
			}
		}
		if !json.Valid(a.body) {
			t.Errorf("GET %s: the answer is not JSON: %s", path, a.body)
		}
	}
}
