package secretsmanager_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"orgops/shared/base/fault"
	"orgops/shared/identity/token"
	"orgops/shared/identity/token/tokensecret"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/secretsmanager"
	"orgops/shared/testkit/errtest"
)

// secrets implements Secrets Manager with the two secrets.
type secrets struct {
	signing, published []byte
	reads              atomic.Int32
	away               atomic.Bool
	hold               chan struct{} // answers wait until it is closed
}

func (s *secrets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.reads.Add(1)
	<-s.hold
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	request, _ := io.ReadAll(r.Body)
	text := s.published
	if strings.Contains(string(request), "signing") {
		text = s.signing
	}
	if s.away.Load() {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type": "AccessDeniedException"}`)
		return
	}
	fmt.Fprintf(w, `{"SecretString": %q}`, text)
}

func world(t *testing.T) (*secrets, *secretsmanager.Lazy) {
	t.Helper()
	key, err := token.NewKey(nil)
	errtest.Must(t, err)
	set := token.KeySet{Current: key}
	s := &secrets{hold: make(chan struct{})}
	s.signing, err = set.Encode()
	errtest.Must(t, err)
	s.published, err = tokensecret.Document(set.Public(), "a text of some length")
	errtest.Must(t, err)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	environment := map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_ENDPOINT_URL": server.URL,
		"ORGOPS_TOKEN_KEYS": "published", "ORGOPS_SIGNING_KEYS": "signing",
	}
	c, err := cloud.Read(func(name string) string { return environment[name] })
	errtest.Must(t, err)
	c.Logger = slog.New(slog.DiscardHandler)
	return s, secretsmanager.LazilySigning(c)
}

// TestLazilySigning reads both secrets once for many concurrent first uses. The signing and the verifying keys belong
// together.
func TestLazilySigning(t *testing.T) {
	t.Parallel()
	s, keys := world(t)
	if n := s.reads.Load(); n != 0 {
		t.Errorf("%d reads before the first use, want 0", n)
	}
	close(s.hold)
	var uses sync.WaitGroup
	for range 8 {
		uses.Go(func() {
			if _, err := keys.Signer(t.Context()); err != nil {
				t.Error(err)
			}
			public, err := keys.Public(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			if got := len(public.JWKS().Keys); got != 1 {
				t.Errorf("%d public keys, want 1", got)
			}
		})
	}
	uses.Wait()
	signer, err := keys.Signer(t.Context())
	errtest.Must(t, err)
	text, err := signer.Issue(token.Claims{Subject: "u", Company: "c"})
	errtest.Must(t, err)
	if _, err := keys.Verify(t.Context(), text); err != nil {
		t.Error(err)
	}
	if n := s.reads.Load(); n != 2 {
		t.Errorf("%d reads, want one of each secret", n)
	}
}

// TestLazilySigning_Away reads the keys again after a failed read.
func TestLazilySigning_Away(t *testing.T) {
	t.Parallel()
	s, keys := world(t)
	close(s.hold)
	s.away.Store(true)
	if _, err := keys.Signer(t.Context()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("while the secrets cannot be read: err = %v, want unavailable", err)
	}
	s.away.Store(false)
	if _, err := keys.Signer(t.Context()); err != nil {
		t.Errorf("after the secrets can be read: %v", err)
	}
}

// TestLazilySigning_Cancelled checks that a cancelled caller waits neither for the secrets nor for another caller's read.
func TestLazilySigning_Cancelled(t *testing.T) {
	t.Parallel()
	s, keys := world(t)
	ctx, cancel := context.WithCancel(t.Context())
	read := make(chan error)
	go func() {
		_, err := keys.Signer(t.Context())
		read <- err
	}()
	waiting := make(chan error)
	go func() {
		_, err := keys.Public(ctx)
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
