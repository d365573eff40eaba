package token_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/identity/token"
	"orgops/shared/testkit/errtest"
)

// TestFileKeys follows a key file through a rotation and a revocation. While the file is missing or damaged, the keys that
// were read last stay in use.
func TestFileKeys(t *testing.T) {
	t.Parallel()
	config, path := newParts(t).config, filepath.Join(t.TempDir(), "keys.json")
	keys, err := token.OpenFileKeys(path, config, slog.New(slog.DiscardHandler))
	errtest.Must(t, err)
	issued := func() string {
		t.Helper()
		signer, err := keys.Signer(t.Context())
		errtest.Must(t, err)
		return issue(t, signer)
	}
	accepted := func(when string, want bool, texts ...string) {
		t.Helper()
		for i, text := range texts {
			_, err := keys.Verify(text)
			if got := err == nil; got != want {
				t.Errorf("%s: token %d accepted = %t, want %t: %v", when, i, got, want, err)
			}
		}
	}
	published := func(when string, want ...token.Key) {
		t.Helper()
		var kids []string
		for _, k := range want {
			kids = append(kids, k.ID())
		}
		public, err := keys.Public(t.Context())
		errtest.Must(t, err)
		if diff := cmp.Diff(kids, ids(public)); diff != "" {
			t.Errorf("%s: keys (-want +got):\n%s", when, diff)
		}
	}
	first := issued()
	accepted("at the start", true, first)

	rotated, err := token.Rotate(path, start)
	errtest.Must(t, err)
	published("after a rotation", rotated.Current, rotated.Previous[0])
	second := issued()
	accepted("after a rotation", true, first, second)

	errtest.Must(t, os.WriteFile(path, []byte("damaged"), 0o600))
	accepted("while the file is damaged", true, first, second)
	errtest.Must(t, os.Remove(path))
	accepted("while the file is missing", true, first, second)
	text, err := rotated.Encode()
	errtest.Must(t, err)
	errtest.Must(t, os.WriteFile(path, text, 0o600))

	sole, err := token.Revoke(path, start)
	errtest.Must(t, err)
	accepted("after a revocation", false, first, second)
	accepted("after a revocation", true, issued())
	published("after a revocation", sole.Current)
}
