package lambdatest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/lambdatest"
	"orgops/shared/testkit/metrictest"
	"orgops/shared/testkit/worktest"
)

// document waits for the only metric document in a function's log, because the output may arrive after the answer.
func document(t *testing.T, f *lambdatest.Function) metrictest.Document {
	t.Helper()
	var all []metrictest.Document
	worktest.Until(t, "the function's log has a metric document", func() bool {
		all = metrictest.Read(t, f.Log())
		return len(all) > 0
	})
	if len(all) != 1 {
		t.Fatalf("%d documents, want 1: %+v", len(all), all)
	}
	return all[0]
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
	got := document(t, worker)
	if got.Stack != "Orgops-acme" {
		t.Errorf("stack = %s, want Orgops-acme", got.Stack)
	}
	if delays := got.Values["ProjectionDelay"]; len(delays) != 1 {
		t.Errorf("delays = %v, want one", delays)
	}
	if got.Others["requestId"] == nil {
		t.Errorf("the document has no request id: %+v", got)
	}
	if earliest := before.Truncate(time.Millisecond); got.Timestamp.Before(earliest) {
		t.Errorf("time = %v, want %v or later", got.Timestamp, earliest)
	}
	// The list of spread companies, the trial of a change that is a minute late, and a transaction: the context, which did not exist, and
	// the timer of the first weekly brief.
	want := map[string]any{"trips": 4.0, "readUnits": 2.0, "writeUnits": 5.0}
	if diff := cmp.Diff(want, got.Others["store"]); diff != "" {
		t.Errorf("store costs (-want +got):\n%s", diff)
	}

	away := w.start(t, "authorizer", "AWS_ENDPOINT_URL_SECRETS_MANAGER=http://127.0.0.1:1") // an invocation that fails
	wantError(t, away, sample(t, "authorizer/bad-token"), "")
	if got := document(t, away).Values["AuthorizerFailures"][0]; got != 1 {
		t.Errorf("AuthorizerFailures = %g, want 1", got)
	}

	group := w.start(t, "inbound")
	ask(t, group, request(t, "POST", "/inbound/"+sampleCompany+"/webhook", "", `{}`))
	got = document(t, group)
	if got.Stack != "Orgops" {
		t.Errorf("stack = %s, want Orgops", got.Stack)
	}
	if refused := got.Values["InboundRefused"][0]; refused != 1 {
		t.Errorf("InboundRefused = %g, want 1", refused)
	}
}
