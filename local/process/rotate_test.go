package process_test

import (
	"log/slog"
	"strings"
	"testing"

	"orgops/local/process"
	"orgops/shared/run/config"
	"orgops/shared/testkit/errtest"
)

// embedded opens a process on a data folder, and returns the environment of its operator.
func embedded(t *testing.T) (*process.Process, environment) {
	t.Helper()
	e := environment{"ORGOPS_DATA": t.TempDir()}
	c, err := config.Read(e.get)
	errtest.Must(t, err)
	p, err := process.Open(t.Context(), c, slog.New(slog.DiscardHandler))
	errtest.Must(t, err)
	t.Cleanup(func() { errtest.Must(t, p.Close()) })
	return p, e
}

const listing = "/companies/{companyId}/integrations"

// TestOpen_Rotated follows a rotation while the process runs: both keys' tokens are accepted.
func TestOpen_Rotated(t *testing.T) {
	t.Parallel()
	p, e := embedded(t)
	c := found(t, e, p.Handler, "grace@example.com")
	c.call(t, 200, "GET", listing, "", nil)
	if out, want := e.admin(t, "", "keys", "rotate"), "stay valid until they expire"; !strings.Contains(out, want) {
		t.Errorf("rotate printed %q, want a text with %q", out, want)
	}
	before := c.token
	c.login(t, "grace@example.com")
	if head, _, _ := strings.Cut(before, "."); strings.HasPrefix(c.token, head) {
		t.Error("a login after the rotation is signed with the former key, want the new one")
	}
	for _, token := range []string{before, c.token} {
		c.token = token
		c.call(t, 200, "GET", listing, "", nil)
	}
}

// TestOpen_Revoked refuses a former key's tokens at once, also those that the process has verified before.
func TestOpen_Revoked(t *testing.T) {
	t.Parallel()
	p, e := embedded(t)
	c := found(t, e, p.Handler, "grace@example.com")
	c.call(t, 200, "GET", listing, "", nil)
	if out, want := e.admin(t, "", "keys", "rotate", "--revoke"), "every token issued before is refused"; !strings.Contains(out, want) {
		t.Errorf("rotate --revoke printed %q, want a text with %q", out, want)
	}
	c.call(t, 401, "GET", listing, "", nil)
	c.login(t, "grace@example.com")
	c.call(t, 200, "GET", listing, "", nil)
	if got := strings.Count(string(c.call(t, 200, "GET", "/.well-known/jwks.json", "", nil)), `"kid"`); got != 1 {
		t.Errorf("%d keys are published, want only the new one", got)
	}
}
