package tokens_test

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

	"orgops/shared/boot/cloud"
	"orgops/shared/boot/cloud/tokens"
	"orgops/shared/fault"
	"orgops/shared/token"
	"orgops/shared/token/tokensecret"
)

// secrets is Secrets Manager with the two secrets.
type secrets struct {
	signing, published []byte
	reads              atomic.Int32
	away               atomic.Bool
	hold               chan struct{} // an answer waits until it is closed
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

func world(t *testing.T) (*secrets, *tokens.Lazy) {
	t.Helper()
	key, err := token.NewKey(nil)
	must(t, err)
	set := token.KeySet{Current: key}
	s := &secrets{hold: make(chan struct{})}
	s.signing, err = set.Encode()
	must(t, err)
	s.published, err = tokensecret.Document(set.Public(), "a text of some length")
	must(t, err)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	environment := map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_ENDPOINT_URL": server.URL,
		"ORGOPS_TOKEN_KEYS": "published", "ORGOPS_SIGNING_KEYS": "signing",
	}
	c, err := cloud.Read(func(name string) string { return environment[name] })
	must(t, err)
	c.Logger = slog.New(slog.DiscardHandler)
	return s, tokens.LazilySigning(c)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Both secrets are read once, however many need them first; what signs and what verifies belong together.
func TestLazilySigning(t *testing.T) {
	t.Parallel()
	s, keys := world(t)
	if n := s.reads.Load(); n != 0 {
		t.Errorf("%d reads before anybody needs the keys", n)
	}
	close(s.hold)
	var uses sync.WaitGroup
	for range 8 {
		uses.Go(func() {
			if _, err := keys.Signer(t.Context()); err != nil {
				t.Error(err)
			}
			if public, err := keys.Public(t.Context()); err != nil || len(public.JWKS().Keys) != 1 {
				t.Error(public, err)
			}
		})
	}
	uses.Wait()
	signer, err := keys.Signer(t.Context())
	must(t, err)
	text, err := signer.Issue(token.Claims{Subject: "u", Company: "c"})
	must(t, err)
	if _, err := keys.Verify(t.Context(), text); err != nil {
		t.Error(err)
	}
	if n := s.reads.Load(); n != 2 {
		t.Errorf("%d reads, want one of each secret", n)
	}
}

// That keys cannot be read is nothing that the next use remembers.
func TestLazilySigning_Away(t *testing.T) {
	t.Parallel()
	s, keys := world(t)
	close(s.hold)
	s.away.Store(true)
	if _, err := keys.Signer(t.Context()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("without the secrets: %v", err)
	}
	s.away.Store(false)
	if _, err := keys.Signer(t.Context()); err != nil {
		t.Errorf("with them: %v", err)
	}
}

// Who is given up waits neither for the secrets nor for another who reads them.
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
		t.Errorf("who was given up: %v", err)
	}
	close(s.hold)
	if err := <-read; err != nil {
		t.Errorf("who reads: %v", err)
	}
}
