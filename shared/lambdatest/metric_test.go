package lambdatest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/lambdatest"
	"orgops/shared/metric/metrictest"
	"orgops/shared/worktest"
)

// documents waits until a function's log has documents of metrics: what a process writes comes by a way of its own.
func documents(t *testing.T, f *lambdatest.Function) (all []metrictest.Document) {
	t.Helper()
	worktest.Until(t, "the function's log has what it measured", func() bool {
		all = metrictest.Read(t, f.Log())
		return len(all) > 0
	})
	return all
}

// TestMetrics: what an invocation measured is a line of the function's log, for its deployment and with the request's id.
func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, secretText(t))
	worker := w.start(t, "projector", "ORGOPS_STACK=Orgops-acme")
	payload := sample(t, "projector/memory-insert")
	before := time.Now()
	for range 2 { // the second time there is nothing new, and nothing to say
		failures(t, worker, payload)
	}
	got := documents(t, worker)
	if len(got) != 1 || got[0].Stack != "Orgops-acme" || len(got[0].Values["ProjectionDelay"]) != 1 || got[0].Others["requestId"] == nil ||
		got[0].Timestamp.Before(before.Truncate(time.Millisecond)) {
		t.Errorf("the projector's: %+v", got)
	}
	want := map[string]any{"trips": 2.0, "readUnits": 1.0, "writeUnits": 1.0} // the context, which was not there
	if diff := cmp.Diff(want, got[0].Others["store"]); diff != "" {
		t.Errorf("what it cost (-want +got):\n%s", diff)
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
