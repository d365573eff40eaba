package vault_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orgops/shared/storage/vault"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// counted counts calls of Unwrap.
type counted struct {
	vault.Wrapper
	unwraps atomic.Int64
}

func (c *counted) Unwrap(ctx context.Context, company string, wrapped []byte) ([]byte, error) {
	c.unwraps.Add(1)
	return c.Wrapper.Unwrap(ctx, company, wrapped)
}

func fileKey(t *testing.T) *vault.FileKey {
	t.Helper()
	k, err := vault.OpenFileKey(filepath.Join(t.TempDir(), "vault.key"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// stays expects v not to open a sealed text, and to give no other reason than ErrSealed.
func stays(t *testing.T, v vault.Vault, company, label string, sealed []byte) {
	t.Helper()
	got, err := v.Open(t.Context(), company, label, sealed)
	if !errors.Is(err, vault.ErrSealed) {
		t.Errorf("open: error %v, want ErrSealed", err)
	}
	if got, want := errtest.Message(err), vault.ErrSealed.Error(); got != want {
		t.Errorf("open: error %q, want %q", got, want)
	}
	if got != nil {
		t.Errorf("opened %q, want nothing", got)
	}
}

func TestSealer(t *testing.T) {
	t.Parallel()
	ctx, keys := context.Background(), vault.StoreKeys{Store: webtest.New(t).Store}
	wrapper := fileKey(t)
	v := vault.New(wrapper, keys, nil)
	secret := []byte("ghp_secret")
	sealed, err := v.Seal(ctx, "a", "github/token", secret)
	errtest.Must(t, err)
	if bytes.Contains(sealed, secret) {
		t.Fatalf("sealed text %q, want it without the secret", sealed)
	}
	again, err := v.Seal(ctx, "a", "github/token", secret)
	errtest.Must(t, err)
	if bytes.Equal(sealed, again) {
		t.Errorf("sealing twice gives the same text %q, want another", again)
	}
	if _, err := v.Seal(ctx, "b", "github/token", secret); err != nil {
		t.Fatal(err)
	}
	for _, v := range []vault.Vault{v, vault.New(wrapper, keys, nil)} { // the second stands for a restart
		got, err := v.Open(ctx, "a", "github/token", sealed)
		errtest.Must(t, err)
		if !bytes.Equal(got, secret) {
			t.Errorf("opened %q, want %q", got, secret)
		}
	}
	tests := []struct {
		name, company, label string
		sealed               []byte
	}{
		{"another company", "b", "github/token", sealed},
		{"a company without a key", "c", "github/token", sealed},
		{"another label", "a", "github/secret", sealed},
		{"label and company run together", "agithub", "/token", sealed},
		{"nothing", "a", "github/token", nil},
		{"truncated", "a", "github/token", sealed[:len(sealed)-1]},
		{"only the header", "a", "github/token", sealed[:13]},
		{"longer", "a", "github/token", append(bytes.Clone(sealed), 0)},
		{"plaintext", "a", "github/token", secret},
	}
	for i := range sealed {
		flipped := bytes.Clone(sealed)
		flipped[i] ^= 1
		tests = append(tests, struct {
			name, company, label string
			sealed               []byte
		}{"a bit flipped", "a", "github/token", flipped})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stays(t, v, tt.company, tt.label, tt.sealed)
		})
	}
}

// TestSealer_WrappedKeyIsBound checks that a wrapped key is useless for another company and with another key file.
func TestSealer_WrappedKeyIsBound(t *testing.T) {
	t.Parallel()
	ctx, keys := context.Background(), vault.StoreKeys{Store: webtest.New(t).Store}
	wrapper := fileKey(t)
	sealed, err := vault.New(wrapper, keys, nil).Seal(ctx, "a", "l", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err := keys.Get(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Create(ctx, "b", wrapped); err != nil {
		t.Fatal(err)
	}
	if err := keys.Create(ctx, "b", wrapped); !errors.Is(err, vault.ErrKeyExists) {
		t.Errorf("create a second key: %v, want ErrKeyExists", err)
	}
	stays(t, vault.New(wrapper, keys, nil), "b", "l", sealed)
	stays(t, vault.New(fileKey(t), keys, nil), "a", "l", sealed)
}

func TestSealer_RemembersKeys(t *testing.T) {
	t.Parallel()
	ctx, keys := context.Background(), vault.StoreKeys{Store: webtest.New(t).Store}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	wrapper := &counted{Wrapper: fileKey(t)}
	v := vault.New(wrapper, keys, func() time.Time { return at })
	use := func(want int64) {
		t.Helper()
		_, err := v.Seal(ctx, "a", "l", nil)
		errtest.Must(t, err)
		if got := wrapper.unwraps.Load(); got != want {
			t.Errorf("%d unwraps, want %d", got, want)
		}
	}
	use(1)
	at = at.Add(5*time.Minute - time.Second)
	use(1)
	at = at.Add(time.Second)
	use(2)
}

// slow fakes a key service that answers when the test tells it to, or not at all.
type slow struct {
	counted
	asked  chan struct{}
	answer chan error
}

func (s *slow) Unwrap(ctx context.Context, company string, wrapped []byte) ([]byte, error) {
	s.asked <- struct{}{}
	if err := <-s.answer; err != nil {
		return nil, err
	}
	return s.counted.Unwrap(ctx, company, wrapped)
}

// TestSealer_Together checks that of concurrent callers one requests the key. The others wait no longer than their contexts,
// and the next one tries if it fails.
func TestSealer_Together(t *testing.T) {
	t.Parallel()
	wrapper, keys := fileKey(t), vault.StoreKeys{Store: webtest.New(t).Store}
	sealed, err := vault.New(wrapper, keys, nil).Seal(t.Context(), "a", "x", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	service := &slow{counted: counted{Wrapper: wrapper}, asked: make(chan struct{}), answer: make(chan error)}
	v := vault.New(service, keys, nil)
	results := make(chan error, 10)
	for range 10 {
		go func() {
			_, err := v.Open(t.Context(), "a", "x", sealed)
			results <- err
		}()
	}
	<-service.asked
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Open(gone, "a", "x", sealed); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled caller: %v, want the context's error", err)
	}
	away := errors.New("away")
	service.answer <- away
	<-service.asked // by another caller
	service.answer <- nil
	failed := 0
	for range 10 {
		if err := <-results; errors.Is(err, away) {
			failed++
		} else if err != nil {
			t.Error(err)
		}
	}
	if n := service.unwraps.Load(); n != 1 {
		t.Errorf("%d unwraps, want 1", n)
	}
	if failed != 1 {
		t.Errorf("%d callers failed, want 1", failed)
	}
}

func TestSealer_AtOnce(t *testing.T) {
	t.Parallel()
	ctx, keys := context.Background(), vault.StoreKeys{Store: webtest.New(t).Store}
	wrapper := fileKey(t)
	var wg sync.WaitGroup
	for range 16 { // each stands for a process
		wg.Go(func() {
			sealed, err := vault.New(wrapper, keys, nil).Seal(ctx, "a", "l", []byte("x"))
			if err != nil {
				t.Error(err)
			}
			if _, err := vault.New(wrapper, keys, nil).Open(ctx, "a", "l", sealed); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestOpenFileKey(t *testing.T) {
	t.Parallel()
	good := base64.StdEncoding.EncodeToString(make([]byte, 32))
	tests := []struct {
		name, content string
		mode          os.FileMode
		ok            bool
	}{
		{"good", good + "\n", 0o600, true},
		{"readable by the group", good, 0o640, false},
		{"readable by others", good, 0o604, false},
		{"not base64", "secret!", 0o600, false},
		{"too short", "c2VjcmV0", 0o600, false},
		{"empty", "", 0o600, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "k")
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			_, err := vault.OpenFileKey(path)
			if ok := err == nil; ok != tt.ok {
				t.Errorf("opened %t, want %t: %v", ok, tt.ok, err)
			}
			if got := errtest.Message(err); strings.Contains(got, "secret") {
				t.Errorf("error %q, want it without the file's content", got)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "new")
	if _, err := vault.OpenFileKey(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	errtest.Must(t, err)
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("new key has mode %o, want 600", got)
	}
}

func FuzzOpen(f *testing.F) {
	v := vault.New(plain{}, vault.StoreKeys{Store: webtest.New(f).Store}, nil)
	sealed, err := v.Seal(context.Background(), "a", "l", []byte("x"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := v.Open(context.Background(), "a", "other", b); err == nil {
			t.Fatalf("opened %q, want an error", got)
		}
	})
}

// plain returns keys unwrapped, because the fuzzer does not test wrapping.
type plain struct{}

func (plain) Wrap(_ context.Context, _ string, key []byte) ([]byte, error) {
	return bytes.Clone(key), nil
}
func (plain) Unwrap(_ context.Context, _ string, wrapped []byte) ([]byte, error) {
	return bytes.Clone(wrapped), nil
}
