package awstest

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/errtest"
)

func TestTools_Missing(t *testing.T) {
	t.Parallel()
	_, err := tools("nothing-of-this-name")
	wantError(t, err, "make tools")
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if got := errtest.Message(err); !strings.Contains(got, want) {
		t.Errorf("error %q, want one with %q", got, want)
	}
}

// shell returns a part that runs a script. $1 is its temporary folder.
func shell(script string, temporary *string) *Part {
	return &Part{folder: "moto", command: func(_, folder string, _ int) []string {
		*temporary = folder
		return []string{"/bin/sh", "-c", script, "sh", folder}
	}}
}

// TestPart_Ended checks that a part that ends instead of listening reports its output and leaves nothing behind.
func TestPart_Ended(t *testing.T) {
	t.Parallel()
	var temporary string
	p := shell("echo because; touch $1/file; exit 3", &temporary)
	p.start()
	wantError(t, p.err, "because")
	p.stop()
	if _, err := os.Stat(temporary); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary folder: err = %v, want it removed", err)
	}
}

// TestPart_Missing checks that a part without a program leaves nothing behind.
func TestPart_Missing(t *testing.T) {
	t.Parallel()
	var temporary string
	p := &Part{folder: "moto", command: func(_, folder string, _ int) []string {
		temporary = folder
		return []string{"no-program-of-this-name"}
	}}
	p.start()
	wantError(t, p.err, "make needs")
	if p.stop != nil {
		t.Error("stop is set, want nil for a part that has not started")
	}
	if _, err := os.Stat(temporary); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary folder: err = %v, want it removed", err)
	}
}

// place implements Place without a process.
type place struct {
	endpoint string
	services []string
}

func (p place) at(testing.TB) (string, []string) { return p.endpoint, p.services }

func TestEnvironment(t *testing.T) {
	t.Parallel()
	parts := []Place{place{"http://db", []string{"DYNAMODB"}}, place{"http://rest", []string{"KMS", "SECRETS_MANAGER"}}, place{"http://proxy", []string{"KMS"}}}
	env := Environment(t, parts...)
	for _, want := range []string{"AWS_REGION=eu-central-1", "AWS_ENDPOINT_URL_DYNAMODB=http://db", "AWS_ENDPOINT_URL_SECRETS_MANAGER=http://rest"} {
		if !slices.Contains(env, want) {
			t.Errorf("%q lacks %s", env, want)
		}
	}
	access := Access(t, parts...)
	if diff := cmp.Diff(new("http://proxy"), access.BaseEndpoint("KMS")); diff != "" {
		t.Errorf("endpoint of KMS, which must be the later place (-want +got):\n%s", diff)
	}
	if got := access.BaseEndpoint("SQS"); got != nil {
		t.Errorf("SQS is at %s, want no endpoint", *got)
	}
}
