package acceptance_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
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

func TestRetry(t *testing.T) {
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
	if len(got) != 2 || got[0].header.Get("Webhook-Id") != got[1].header.Get("Webhook-Id") || !bytes.Equal(got[0].body, got[1].body) {
		t.Fatalf("%d deliveries, want the same one twice", len(got))
	}
	// 5 s, minus 20 % at most. The machine's load may add to it.
	if waited := got[1].at.Sub(got[0].at); waited < 4*time.Second {
		t.Errorf("retried after %v, want at least 4 s", waited)
	}
	t.Logf("delivered %v after the event", time.Since(began))
	var one struct{ Attempts []struct{ State string } }
	tn.do("GET", tn.at("/integrations/webhook/deliveries/"+got[0].ID), nil).want(200).json(&one)
	if len(one.Attempts) != 2 || one.Attempts[0].State != "failed" || one.Attempts[1].State != "delivered" {
		t.Errorf("got the attempt log %+v", one)
	}
}

func TestGoneDisables(t *testing.T) {
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
		Disabled *struct{ Reason string }
	}
	eventually(t, "410 disables the endpoint", func() bool {
		tn.do("GET", tn.at("/integrations/webhook"), nil).want(200).json(&i)
		return !i.Enabled
	})
	if i.Disabled == nil || i.Disabled.Reason == "" {
		t.Errorf("no reason for the disabling: %+v", i)
	}
	eventually(t, "the delivery has failed", func() bool { return len(tn.attempts("webhook", "&state=failed")) == 1 })
	tn.do("POST", tn.at("/integrations/webhook/enable"), nil).want(200)
	r.respond(nil)
	tn.do("POST", tn.at("/integrations/webhook/recover"), map[string]any{"since": time.Now().Add(-time.Hour)}).want(202)
	eventually(t, "the failed delivery is recovered", func() bool { return len(tn.attempts("webhook", "&state=delivered")) == 1 })
}

func TestSandboxHolds(t *testing.T) {
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
			t.Errorf("%+v", a)
		}
	}
	if got := r.deliveries(); len(got) != 0 {
		t.Fatalf("%d events were sent to an endpoint in the sandbox", len(got))
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
	if len(r.deliveries()) != 0 {
		t.Error("a certification alone sent held deliveries")
	}
	tn.do(report.Recover.Method, report.Recover.Href, map[string]any{"since": time.Now().Add(-time.Hour)}).want(202)
	eventually(t, "the held deliveries arrive", func() bool { return len(r.deliveries("memory.created")) == n })
}

// TestCarelessReceiverIsNotCertified keeps a receiver that accepts every delivery in the sandbox.
func TestCarelessReceiverIsNotCertified(t *testing.T) {
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
		t.Errorf("%+v", report)
	}
	failed := 0
	for _, c := range report.Checks {
		if c.Status == "fail" {
			failed++
			if !strings.Contains(c.Reason, "webhook-") {
				t.Errorf("%s does not name the headers to verify: %s", c.ID, c.Reason)
			}
		}
	}
	if failed == 0 {
		t.Error("no check failed")
	}
}

// TestSecretsAreWriteOnly checks that a secret is shown once and that no later answer holds it.
func TestSecretsAreWriteOnly(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Secretive")
	var created struct{ SigningSecret string }
	tn.do("POST", tn.at("/integrations/webhook"), map[string]any{"url": "http://127.0.0.1:9/", "events": []string{"memory.*"}}).want(201).json(&created)
	if !strings.HasPrefix(created.SigningSecret, "whsec_") {
		t.Fatalf("no secret was generated: %+v", created)
	}
	const credential = "a-write-only-credential"
	s.log.keepOut(created.SigningSecret)
	s.log.keepOut(credential)
	tn.do("PUT", tn.at("/integrations/webhook/credentials"), map[string]any{"credentials": map[string]string{"token": credential}}).want(204)
	for _, path := range []string{"/integrations", "/integrations/webhook", "/intelligence/context", "/mission-control/timeline", "/mission-control/dashboard"} {
		a := tn.do("GET", tn.at(path), nil).want(200)
		for _, secret := range []string{created.SigningSecret, credential} {
			if strings.Contains(string(a.body), secret) {
				t.Errorf("GET %s shows a secret", path)
			}
		}
		if !json.Valid(a.body) {
			t.Errorf("GET %s: %s", path, a.body)
		}
	}
}
