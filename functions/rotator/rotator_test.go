package rotator_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/functions/rotator"
	"orgops/shared/identity/token"
	"orgops/shared/identity/token/tokensecret"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
)

var moto = awstest.Moto()

func TestMain(m *testing.M) { os.Exit(awstest.Run(m, moto)) }

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world holds the two secrets as deployed, and a clock.
type world struct {
	t                  *testing.T
	proxy              *awstest.Proxy
	signing, published *awstest.Secret
	rotator            *rotator.Rotator
	at                 time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, proxy: moto.Through(t), at: start, signing: awstest.NewSecret(t, moto.Access(t)), published: awstest.NewSecret(t, moto.Access(t))}
	w.signing.Set(t, "{}")
	w.published.Set(t, `{"cursor": "a text of some length"}`)
	s := w.secrets()
	w.rotator = &rotator.Rotator{Signing: s.Signing, Published: s.Published, Now: w.now}
	return w
}

func (w *world) now() time.Time { return w.at }

func (w *world) secrets() tokensecret.Secrets {
	access := w.proxy.Access()
	return tokensecret.Secrets{Signing: tokensecret.Open(access, w.signing.ARN), Published: tokensecret.Open(access, w.published.ARN)}
}

// process returns the keys of a process that starts now. A process that only verifies has no access to the signing secret.
func (w *world) process(signs bool) *tokensecret.Keyring {
	w.t.Helper()
	s := w.secrets()
	if !signs {
		s.Signing = nil
	}
	config := token.Config{Issuer: "https://issuer.test", Audience: "orgops", Now: w.now}
	keys, err := tokensecret.NewKeyring(w.t.Context(), s, config, slog.New(slog.DiscardHandler), w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	return keys
}

var steps = []string{"createSecret", "setSecret", "testSecret", "finishSecret"}

func (w *world) step(name, version string) error {
	return w.rotator.Handle(w.t.Context(), rotator.Event{Step: name, SecretID: w.signing.ARN, Version: version})
}

// rotate does the first steps of a rotation, each twice.
func (w *world) rotate(many int) (version string) {
	w.t.Helper()
	version = w.signing.BeginRotation(w.t)
	for _, name := range steps[:many] {
		for range 2 {
			if err := w.step(name, version); err != nil {
				w.t.Fatalf("%s: %v", name, err)
			}
		}
	}
	return version
}

// issued returns a token from a process that has just refreshed its keys.
func (w *world) issued(keys *tokensecret.Keyring) string {
	w.t.Helper()
	keys.Refresh(w.t.Context())
	text, err := keys.Signer().Issue(token.Claims{Subject: "u", Company: "c"})
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// accepted verifies tokens with the keys that the process already has, and fails if it reads the keys again.
func (w *world) accepted(what string, keys *tokensecret.Keyring, texts ...string) {
	w.t.Helper()
	keys.Refresh(w.t.Context())
	before := w.proxy.Calls("GetSecretValue")
	for i, text := range texts {
		if _, err := keys.Verify(text); err != nil {
			w.t.Errorf("%s: token %d is refused: %v, want it accepted", what, i, err)
		}
	}
	if n := w.proxy.Calls("GetSecretValue") - before; n != 0 {
		w.t.Errorf("%s: the keys were read again %d times, want never", what, n)
	}
}

func (w *world) kids(stage string) []string {
	w.t.Helper()
	var doc struct{ Keys []struct{ Kid string } }
	if err := json.Unmarshal([]byte(w.published.Text(w.t, stage)), &doc); err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, k := range doc.Keys {
		all = append(all, k.Kid)
	}
	return all
}

// TestRotation rotates twice in quick succession while processes stay warm; no token is refused.
func TestRotation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rotate(4)
	signer, verifier := w.process(true), w.process(false)
	first := w.issued(signer)
	w.accepted("the first key", verifier, first)

	for range 2 {
		w.at = w.at.Add(time.Minute)
		w.rotate(4)
	}
	if n := len(w.kids("AWSCURRENT")); n != 3 {
		t.Errorf("%d keys are published, want 3", n)
	}
	tokens, used := []string{first}, map[string]bool{}
	for range 40 { // minutes; both processes refresh their keys, the verifier before the signer uses a new one
		w.at = w.at.Add(time.Minute)
		tokens = append(tokens, w.issued(signer))
		w.accepted("while rotating", verifier, tokens...)
	}
	w.accepted("a process that starts now", w.process(false), tokens...)
	for _, text := range tokens {
		head, _, _ := strings.Cut(text, ".")
		used[head] = true
	}
	if len(used) != 3 {
		t.Errorf("%d keys have signed, want 3", len(used))
	}
	w.at = start.Add(30 * 24 * time.Hour)
	w.rotate(4)
	if n := len(w.kids("AWSCURRENT")); n != 2 {
		t.Errorf("%d keys are published a month later, want 2", n)
	}
}

// TestRotation_EndsEarly stops a rotation after any step, and continues it or starts it again. No token is refused.
func TestRotation_EndsEarly(t *testing.T) {
	t.Parallel()
	for done := range 4 {
		for _, restarted := range []bool{false, true} {
			w := newWorld(t)
			w.rotate(4)
			signer, verifier := w.process(true), w.process(false)
			tokens := []string{w.issued(signer)}
			version := w.rotate(done)
			for range 8 {
				w.at = w.at.Add(3 * time.Minute)
				tokens = append(tokens, w.issued(signer), w.issued(w.process(true)))
				w.accepted("after an early end", verifier, tokens...)
			}
			if restarted {
				version = w.rotate(0)
			}
			for _, name := range steps {
				if err := w.step(name, version); err != nil {
					t.Fatalf("after %d steps, restarted %t: %s: %v", done, restarted, name, err)
				}
			}
			for range 8 {
				w.at = w.at.Add(3 * time.Minute)
				tokens = append(tokens, w.issued(signer), w.issued(w.process(true)))
				w.accepted("after the rotation", verifier, tokens...)
			}
			if n := len(w.kids("AWSCURRENT")); n != 2 {
				t.Errorf("after %d steps, restarted %t: %d keys are published, want 2", done, restarted, n)
			}
		}
	}
}

// TestRotation_Faults loses answers and checks that the retried steps do not take effect twice.
func TestRotation_Faults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rotate(4)
	verifier := w.process(false)
	w.proxy.Play(
		awstest.Step{Operation: "PutSecretValue", Lost: true, Times: 2},
		awstest.Step{Operation: "UpdateSecretVersionStage", Lost: true},
	)
	version := w.rotate(0)
	for _, name := range steps {
		var err error
		for range 3 { // Secrets Manager retries
			if err = w.step(name, version); err == nil {
				break
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if n := len(w.kids("AWSCURRENT")); n != 2 {
		t.Errorf("%d keys are published, want 2", n)
	}
	w.at = w.at.Add(token.Lead)
	w.accepted("after faults", verifier, w.issued(w.process(true)))
}

func TestRotator_Refuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.rotate(1)
	version := w.rotate(1)
	tests := []struct{ name, step, version string }{
		{"no step", "", ""},
		{"an unknown version", "createSecret", "2f0c9c2e-8b5d-4a0e-9f66-0d7f3f1f4a11"},
		{"a superseded version", "setSecret", old},
		{"an unknown step", "dropSecret", version},
		{"a test of an unpublished key", "testSecret", version},
		{"a promotion of an unpublished key", "finishSecret", version},
	}
	for _, tt := range tests {
		if err := w.step(tt.step, tt.version); err == nil {
			t.Errorf("%s: no error, want one", tt.name)
		}
	}
	if got := w.signing.Text(t, "AWSCURRENT"); got != "{}" {
		t.Errorf("the current version is %q after refused steps, want {}", got)
	}
	w.published.Set(t, "something private")
	err := w.step("setSecret", version)
	if err == nil {
		t.Fatal("no error for a corrupt published secret, want one")
	}
	if got := err.Error(); strings.Contains(got, "private") {
		t.Errorf("error for a corrupt published secret %q, want one without its text", got)
	}
}

// TestRotation_Repairs publishes the signing keys again after the published secret was overwritten.
func TestRotation_Repairs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rotate(4)
	text := w.issued(w.process(true))
	w.published.Set(t, `{"cursor": "another text of some length"}`)
	w.rotate(4)
	keys := w.process(true)
	w.accepted("a token from before", keys, text, w.issued(keys))
	if got, want := string(keys.Cursor()), "another text of some length"; got != want {
		t.Errorf("the cursor's text is %q, want %q", got, want)
	}
}

// TestRotator_Rotate rotates with one call, as an operator does.
func TestRotator_Rotate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, version := range []string{"11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"} {
		if err := w.rotator.Rotate(t.Context(), version); err != nil {
			t.Fatal(err)
		}
	}
	w.at = w.at.Add(token.Lead)
	w.accepted("after two rotations", w.process(false), w.issued(w.process(true)))
	if n := len(w.kids("AWSCURRENT")); n != 2 {
		t.Errorf("%d keys are published, want 2", n)
	}
}

// TestRotator_Revoke refuses every earlier token: at once where a token of the new key arrives, and elsewhere when the keys
// are read again. The new key signs at once.
func TestRotator_Revoke(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rotate(4)
	w.rotate(4)
	stopped := w.rotate(1) // its keys include the earlier ones
	warm, idle := w.process(false), w.process(false)
	earlier := w.issued(w.process(true))
	w.accepted("before the revocation", warm, earlier)
	w.accepted("before the revocation", idle, earlier)
	w.at = w.at.Add(time.Minute)
	errtest.Must(t, w.rotator.Revoke(t.Context(), "33333333-3333-4333-8333-333333333333"))
	if n := len(w.kids("AWSCURRENT")); n != 1 {
		t.Errorf("%d keys are published, want 1", n)
	}
	if _, err := warm.Verify(w.issued(w.process(true))); err != nil {
		t.Errorf("a token of the new key is refused: %v, want it accepted", err)
	}
	w.at = w.at.Add(token.Lead/2 - time.Minute)
	idle.Refresh(t.Context())
	for name, keys := range map[string]*tokensecret.Keyring{"warm": warm, "idle": idle, "new": w.process(false)} {
		if _, err := keys.Verify(earlier); err == nil {
			t.Errorf("the %s process accepts a token of a revoked key, want it refused", name)
		}
	}
	for _, name := range steps {
		if err := w.step(name, stopped); err == nil {
			t.Errorf("%s continues a rotation that began before the revocation, want it refused", name)
		}
	}
}

// TestRotator_PublishesNoPrivateKey rotates twice and looks for private keys in the published secret.
func TestRotator_PublishesNoPrivateKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rotate(4)
	w.rotate(4)
	var set struct {
		Current  struct{ D string }
		Previous []struct{ D string }
	}
	if err := json.Unmarshal([]byte(w.signing.Text(t, "AWSCURRENT")), &set); err != nil {
		t.Fatal(err)
	}
	if n := len(set.Previous); n != 1 {
		t.Fatalf("the signing secret has %d previous keys, want 1", n)
	}
	published := w.published.Text(t, "AWSCURRENT")
	for i, private := range []string{`"d"`, set.Current.D, set.Previous[0].D} {
		if private == "" {
			t.Fatalf("private text %d is missing from the signing secret, want it there", i)
		}
		if strings.Contains(published, private) {
			t.Errorf("published %s, want it without the private %s", published, private)
		}
	}
	if _, err := w.process(false).Signer().Issue(token.Claims{Subject: "u", Company: "c"}); err == nil {
		t.Error("a process that only verifies has signed, want an error")
	}
}

// TestKeyring_Flood checks that tokens with unknown keys cause a read every 20 s, not one each. A valid token whose key is
// newer than the last read is accepted after such a read.
func TestKeyring_Flood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rotate(4)
	verifier := w.process(false)
	key, err := token.NewKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	config := token.Config{Issuer: "https://issuer.test", Audience: "orgops", Now: w.now}
	forged, err := token.NewSigner(config, token.KeySet{Current: key}).Issue(token.Claims{Subject: "u", Company: "c"})
	if err != nil {
		t.Fatal(err)
	}
	before := w.proxy.Calls("GetSecretValue")
	for range 600 { // ten a second
		w.at = w.at.Add(100 * time.Millisecond)
		if _, err := verifier.Verify(forged); err == nil {
			t.Fatal("a forged token is accepted, want an error")
		}
	}
	if n := w.proxy.Calls("GetSecretValue") - before; n != 3 {
		t.Errorf("a minute of forged tokens caused %d reads, want one in 20 s", n)
	}
	expired := w.issued(w.process(true))
	w.at = w.at.Add(2 * time.Hour)
	before = w.proxy.Calls("GetSecretValue")
	if _, err := verifier.Verify(expired); err == nil {
		t.Error("an expired token is accepted, want an error")
	}
	if n := w.proxy.Calls("GetSecretValue") - before; n != 0 {
		t.Errorf("an expired token of a known key causes %d reads, want none", n)
	}
	w.rotate(4)
	w.at = w.at.Add(token.Lead)
	if _, err := verifier.Verify(w.issued(w.process(true))); err != nil {
		t.Errorf("a token of a key that is younger than the last read is refused: %v, want it accepted", err)
	}
}

// TestKeyring_AtOnce verifies many tokens of a new key concurrently: one read serves them all.
func TestKeyring_AtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rotate(4)
	verifier := w.process(false)
	w.rotate(4)
	w.at = w.at.Add(token.Lead)
	text := w.issued(w.process(true))
	before := w.proxy.Calls("GetSecretValue")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := verifier.Verify(text); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := w.proxy.Calls("GetSecretValue") - before; n != 1 {
		t.Errorf("%d reads, want one", n)
	}
}

// TestKeyring_Away keeps using the known keys while Secrets Manager does not answer.
func TestKeyring_Away(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rotate(4)
	keys, text := w.process(false), w.issued(w.process(true))
	w.at = w.at.Add(10 * time.Minute)
	w.proxy.Play(awstest.Step{Operation: "GetSecretValue", Status: http.StatusBadRequest, Body: `{"__type":"AccessDeniedException"}`})
	before := w.proxy.Calls("GetSecretValue")
	for range 5 {
		keys.Refresh(t.Context())
		if _, err := keys.Verify(text); err != nil {
			t.Error(err)
		}
	}
	if n := w.proxy.Calls("GetSecretValue") - before; n != 1 {
		t.Errorf("%d reads while Secrets Manager does not answer, want one", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tokensecret.NewKeyring(ctx, w.secrets(), token.Config{Now: w.now}, slog.New(slog.DiscardHandler), w.now); err == nil {
		t.Error("no error for unreadable keys at the start, want one")
	}
}
