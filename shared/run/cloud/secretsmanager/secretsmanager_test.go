package secretsmanager_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orgops/shared/identity/token"
	"orgops/shared/identity/token/tokensecret"
	"orgops/shared/run/boot"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/secretsmanager"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
)

var config = token.Config{Issuer: "https://api.test", Audience: "https://api.test"}

// secrets implements Secrets Manager with the secret that holds the published keys.
type secrets struct {
	published []byte
	token     string // signed with one of the keys
	address   string
	reads     atomic.Int32
	away      atomic.Bool
	hold      chan struct{} // while the secret can be read, answers wait until it is closed
}

func (s *secrets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.reads.Add(1)
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if s.away.Load() {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type": "AccessDeniedException"}`)
		return
	}
	<-s.hold
	fmt.Fprintf(w, `{"SecretString": %q}`, s.published)
}

func newSecrets(t *testing.T) *secrets {
	t.Helper()
	key, err := token.NewKey(nil)
	errtest.Must(t, err)
	set := token.KeySet{Current: key}
	s := &secrets{hold: make(chan struct{})}
	s.token, err = token.NewSigner(config, set).Issue(token.Claims{Subject: "u", Company: "c"})
	errtest.Must(t, err)
	s.published, err = tokensecret.Document(set.Public(), "a text of some length")
	errtest.Must(t, err)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.address = server.URL
	return s
}

// keys returns the keys of a process that starts now.
func (s *secrets) keys(t *testing.T) *secretsmanager.Lazy {
	t.Helper()
	environment := map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_ENDPOINT_URL": s.address,
		"ORGOPS_TOKEN_KEYS": "published", "ORGOPS_ISSUER": config.Issuer, "ORGOPS_AUDIENCE": config.Audience,
	}
	c, err := cloud.Read(func(name string) string { return environment[name] })
	errtest.Must(t, err)
	c.Logger = slog.New(slog.DiscardHandler)
	return secretsmanager.Lazily(c)
}

// TestLazily reads the secret at the start, and once for many concurrent uses.
func TestLazily(t *testing.T) {
	t.Parallel()
	s := newSecrets(t)
	close(s.hold)
	keys := s.keys(t)
	var uses sync.WaitGroup
	for range 8 {
		uses.Go(func() {
			if _, err := keys.Verify(t.Context(), s.token); err != nil {
				t.Error(err)
			}
		})
	}
	uses.Wait()
	if n := s.reads.Load(); n != 1 {
		t.Errorf("%d reads, want 1", n)
	}
}

// TestLazily_Away reads the secret again, and once for many concurrent uses, after the read at the start failed.
func TestLazily_Away(t *testing.T) {
	t.Parallel()
	s := newSecrets(t)
	close(s.hold)
	s.away.Store(true)
	keys := s.keys(t)
	if _, err := keys.Verify(t.Context(), s.token); err == nil {
		t.Error("while the secret cannot be read: no error")
	}
	s.away.Store(false)
	before := s.reads.Load()
	var uses sync.WaitGroup
	for range 8 {
		uses.Go(func() {
			if _, err := keys.Verify(t.Context(), s.token); err != nil {
				t.Errorf("after the secret can be read: %v", err)
			}
		})
	}
	uses.Wait()
	if n := s.reads.Load() - before; n != 1 {
		t.Errorf("%d reads after the secret can be read, want 1", n)
	}
}

// TestLazily_Cancelled checks that a cancelled caller waits neither for the secret nor for another caller's read.
func TestLazily_Cancelled(t *testing.T) {
	t.Parallel()
	s := newSecrets(t)
	s.away.Store(true)
	keys := s.keys(t)
	s.away.Store(false)
	ctx, cancel := context.WithCancel(t.Context())
	read := make(chan error)
	go func() {
		_, err := keys.Verify(t.Context(), s.token)
		read <- err
	}()
	waiting := make(chan error)
	go func() {
		_, err := keys.Verify(ctx, s.token)
		waiting <- err
	}()
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled caller: err = %v, want %v", err, context.Canceled)
	}
	close(s.hold)
	if err := <-read; err != nil {
		t.Errorf("the reading caller: %v", err)
	}
}

// TestAddApplications_Away does not repeat a first read that failed for half a minute, and then reads.
func TestAddApplications_Away(t *testing.T) {
	t.Parallel()
	s := newSecrets(t)
	close(s.hold)
	s.published = []byte(`{"gitlab": {"clientId": "a", "clientSecret": "b"}}`)
	environment := map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_ENDPOINT_URL": s.address,
		"ORGOPS_APPLICATIONS": "applications",
	}
	c, err := cloud.Read(func(name string) string { return environment[name] })
	errtest.Must(t, err)
	clock := clocktest.At(time.Now())
	c.Now = clock.Now
	var p boot.Parts
	secretsmanager.AddApplications(c, &p)
	s.away.Store(true)
	for range 3 {
		if _, _, err := p.Applications.Find(t.Context(), "gitlab"); err == nil {
			t.Error("while the secret cannot be read: no error")
		}
	}
	if n := s.reads.Load(); n != 1 {
		t.Errorf("%d reads, want 1", n)
	}
	s.away.Store(false)
	clock.Advance(30 * time.Second)
	_, ok, err := p.Applications.Find(t.Context(), "gitlab")
	errtest.Must(t, err)
	if !ok {
		t.Error("after half a minute the application is not found")
	}
}
