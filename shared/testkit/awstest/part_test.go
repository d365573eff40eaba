package awstest

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestTools_Missing(t *testing.T) {
	t.Parallel()
	if _, err := tools("nothing-of-this-name"); err == nil || !strings.Contains(err.Error(), "make tools") {
		t.Errorf("err = %v, want one that names `make tools`", err)
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
	if p.err == nil || !strings.Contains(p.err.Error(), "because") {
		t.Errorf("err = %v, want the script's output in it", p.err)
	}
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
	if p.err == nil || !strings.Contains(p.err.Error(), "make needs") || p.stop != nil {
		t.Errorf("got %v", p.err)
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
	if got := access.BaseEndpoint("KMS"); got == nil || *got != "http://proxy" {
		t.Errorf("KMS is at %v, want http://proxy, the later place", got)
	}
	if got := access.BaseEndpoint("SQS"); got != nil {
		t.Errorf("SQS is at %s, want no endpoint", *got)
	}
}
