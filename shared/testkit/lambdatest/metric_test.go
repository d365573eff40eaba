package lambdatest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/lambdatest"
	"orgops/shared/testkit/metrictest"
	"orgops/shared/testkit/worktest"
)

// documents waits for metric documents in a function's log, because the output may arrive after the answer.
func documents(t *testing.T, f *lambdatest.Function) (all []metrictest.Document) {
	t.Helper()
	worktest.Until(t, "the function's log has a metric document", func() bool {
		all = metrictest.Read(t, f.Log())
		return len(all) > 0
	})
	return all
}

// TestMetrics checks that an invocation writes its metrics as a line of the function's log, with the stack's name and the
// request id.
func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, secretText(t))
	worker := w.start(t, "projector", "ORGOPS_STACK=Orgops-acme")
	payload := sample(t, "projector/memory-insert")
	before := time.Now()
	for range 2 { // the second invocation changes and measures nothing
		failures(t, worker, payload)
	}
	got := documents(t, worker)
	if len(got) != 1 || got[0].Stack != "Orgops-acme" || len(got[0].Values["ProjectionDelay"]) != 1 || got[0].Others["requestId"] == nil ||
		got[0].Timestamp.Before(before.Truncate(time.Millisecond)) {
		t.Errorf("the projector's: %+v", got)
	}
	want := map[string]any{"trips": 2.0, "readUnits": 1.0, "writeUnits": 1.0} // the context, which did not exist
	if diff := cmp.Diff(want, got[0].Others["store"]); diff != "" {
		t.Errorf("store costs (-want +got):\n%s", diff)
	}

	away := w.start(t, "authorizer", "AWS_ENDPOINT_URL_SECRETS_MANAGER=http://127.0.0.1:1") // an invocation that fails
	if r := away.Invoke(t, sample(t, "authorizer/bad-token")); !r.Failed {
		t.Errorf("%s", r.Body)
	}
	if got := documents(t, away); len(got) != 1 || got[0].Values["AuthorizerFailures"][0] != 1 {
		t.Errorf("the authorizer's: %+v", got)
	}

	group := w.start(t, "inbound")
	ask(t, group, request(t, "POST", "/inbound/"+sampleCompany+"/webhook", "", `{}`))
	if got := documents(t, group); len(got) != 1 || got[0].Stack != "Orgops" || got[0].Values["InboundRefused"][0] != 1 {
		t.Errorf("inbound's: %+v", got)
	}
}
