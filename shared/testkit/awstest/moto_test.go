package awstest_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/awstest"
)

var moto = awstest.Moto()

func TestMain(m *testing.M) { os.Exit(awstest.Run(m, moto)) }

func TestSecret(t *testing.T) {
	t.Parallel()
	secret := awstest.NewSecret(t, moto.Access(t))
	secret.Set(t, "one")
	if a, b := secret.BeginRotation(t), secret.BeginRotation(t); a == b {
		t.Errorf("two rotations have the version %s, want two versions", a)
	}
	secret.Set(t, "two")
	if got := secret.Text(t, "AWSCURRENT"); got != "two" {
		t.Errorf("text = %q, want two", got)
	}
}

func TestUsageKeys(t *testing.T) {
	t.Parallel()
	proxy := moto.Through(t)
	plan := awstest.UsagePlan(t, proxy.Access(), "free")
	if got := awstest.UsageKeys(t, proxy.Access(), plan); len(got) != 0 {
		t.Errorf("a new plan has keys %q, want none", got)
	}
	keys := "GET /usageplans/" + plan + "/keys"
	proxy.Play(awstest.Step{Operation: keys, Status: http.StatusServiceUnavailable})
	awstest.UsageKeys(t, proxy.Access(), plan)
	want := []string{"POST /usageplans", keys, keys, keys + " again"}
	var got []string
	for _, r := range proxy.Asked() {
		if r.Again {
			r.Operation += " again"
		}
		got = append(got, r.Operation)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if got := proxy.Calls(want[0]); got != 1 {
		t.Errorf("%d calls of %s, want 1", got, want[0])
	}
}
