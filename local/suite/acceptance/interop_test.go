package acceptance_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"orgops/local/suite/servicetest"
	"orgops/shared/testkit/errtest"
)

// TestDelivery_VerifiedElsewhere verifies a delivery with the official libraries of two languages, with the old and with the
// new secret during a rotation.
func TestDelivery_VerifiedElsewhere(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Interop")
	first := newSecret(t)
	r := receive(t, first)
	tn.subscribe("webhook", r.url, first, "memory.*")
	var rotated struct {
		SigningSecret string
		LiveSecrets   int
	}
	tn.do("POST", tn.at("/integrations/webhook/secret"), nil).want(200).json(&rotated)
	if rotated.LiveSecrets != 2 {
		t.Fatalf("%d live secrets, want 2", rotated.LiveSecrets)
	}
	if !strings.HasPrefix(rotated.SigningSecret, "whsec_") {
		t.Fatalf("secret = %q, want it to begin with whsec_", rotated.SigningSecret)
	}
	s.Log.KeepOut(first)
	s.Log.KeepOut(rotated.SigningSecret)
	tn.post(first, "msg-1", ticket(1))
	eventually(t, "memory.created arrives", func() bool { return len(r.deliveries("memory.created")) == 1 })
	d := r.deliveries("memory.created")[0]

	if n := len(strings.Fields(d.header.Get("Webhook-Signature"))); n != 2 {
		t.Errorf("%d signatures during a rotation, want 2: %s", n, d.header.Get("Webhook-Signature"))
	}
	for name, want := range map[string]string{"Webhook-Id": d.ID, "Content-Type": "application/json"} {
		if got := d.header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	want := "verified memory.created " + d.ID
	for name, secret := range map[string]string{"old secret": first, "new secret": rotated.SigningSecret} {
		headers := map[string]string{}
		for _, h := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			headers[h] = d.header.Get(h)
		}
		env, err := json.Marshal(map[string]any{"secret": secret, "headers": headers, "body": string(d.body)})
		errtest.Must(t, err)
		t.Run("JavaScript, "+name, func(t *testing.T) {
			if got := strings.TrimSpace(node(t, "verify.mjs", "DELIVERY="+string(env))); got != want {
				t.Errorf("output = %q, want %q", got, want)
			}
		})
		t.Run("Python, "+name, func(t *testing.T) {
			if got := strings.TrimSpace(pythonRun(t, "verify.py", "DELIVERY="+string(env))); got != want {
				t.Errorf("output = %q, want %q", got, want)
			}
		})
	}
}

// pythonRun runs a script of testdata with a variable of the environment.
func pythonRun(t *testing.T, script, variable string) string {
	t.Helper()
	return servicetest.Command(t, time.Minute, func(cmd *exec.Cmd) { cmd.Env = append(os.Environ(), variable) }, python(t), "testdata/"+script)
}

// TestArrival_SignedElsewhere takes what the official libraries of two languages sign, and refuses it under another id.
func TestArrival_SignedElsewhere(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Interop")
	secret := newSecret(t)
	tn.register("webhook", "https://example.com/", secret, "memory.*")
	s.Log.KeepOut(secret)
	sent := `{"type":"memory.upsert","data":{"externalId":"1","kind":"ticket","title":"Zoë 👩‍💻"}}`
	for name, signed := range map[string]func(arrival string) string{
		"JavaScript": func(arrival string) string { return node(t, "sign.mjs", arrival) },
		"Python":     func(arrival string) string { return pythonRun(t, "sign.py", arrival) },
	} {
		arrival, err := json.Marshal(map[string]string{"secret": secret, "id": "msg_" + name, "body": sent})
		errtest.Must(t, err)
		var headers map[string]string
		errtest.Must(t, json.Unmarshal([]byte(signed("ARRIVAL="+string(arrival))), &headers))
		for id, want := range map[string]int{"msg_" + name: 202, "msg_other": 401} {
			answer := tn.do("POST", "/inbound/"+tn.ID+"/webhook", []byte(sent),
				"Webhook-Id", id, "Webhook-Timestamp", headers["Webhook-Timestamp"], "Webhook-Signature", headers["Webhook-Signature"])
			if answer.status != want {
				t.Errorf("%s under the id %s: status = %d, want %d: %s", name, id, answer.status, want, answer.body)
			}
		}
	}
}

func TestToken_VerifiedElsewhere(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Jose")
	output := node(t, "token.mjs", "TOKEN="+tn.Token, "JWKS="+s.base+"/.well-known/jwks.json", "ISSUER="+servicetest.Issuer, "AUDIENCE="+servicetest.Audience)
	var claims struct{ Company, Alg, Kid, Scope string }
	errtest.Must(t, json.Unmarshal([]byte(output), &claims))
	if got, want := [...]string{claims.Company, claims.Alg}, [...]string{tn.ID, "EdDSA"}; got != want {
		t.Errorf("company and algorithm = %q, want %q", got, want)
	}
	if claims.Kid == "" {
		t.Error("the token names no key")
	}
	if want := "memory:write"; !strings.Contains(claims.Scope, want) {
		t.Errorf("scope = %q, want one with %s", claims.Scope, want)
	}
}
