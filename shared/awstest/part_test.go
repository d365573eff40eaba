package awstest

import (
	"slices"
	"strings"
	"testing"
)

func TestTools_Missing(t *testing.T) {
	t.Parallel()
	if _, err := tools("nothing-of-this-name"); err == nil || !strings.Contains(err.Error(), "make tools") {
		t.Errorf("got %v, want it to say what to run", err)
	}
}

// place is a Place without a process.
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
	if got := access.Endpoint("KMS"); got == nil || *got != "http://proxy" {
		t.Errorf("KMS is at %v, want the later place", got)
	}
	if got := access.Endpoint("SQS"); got != nil {
		t.Errorf("SQS is at %s, though no place has it", *got)
	}
}
