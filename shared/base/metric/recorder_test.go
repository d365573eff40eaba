package metric_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/metric"
	"orgops/shared/testkit/metrictest"
)

func at(t *testing.T, text string) func() time.Time {
	t.Helper()
	now, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return func() time.Time { return now }
}

// TestRecorder_Flush checks a line to the byte.
func TestRecorder_Flush(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-02-23T10:00:00.5Z")
	r, log := metrictest.New(now)
	r.Attach("store", func() any { return map[string]int{"trips": 3} })
	r.Count(metric.DeliveriesSucceeded, 2)
	r.Count(metric.DeliveriesSucceeded, 1)
	r.Count(metric.SyncItems, 0) // writes nothing
	r.Trouble(metric.AttemptsFailed, "acme")
	r.Trouble(metric.AttemptsFailed, "acme")
	r.Time(metric.AttemptLatency, 1500*time.Microsecond)
	r.Since(metric.DeliveryDelay, now().Add(-time.Second))
	r.Since(metric.DeliveryDelay, now().Add(time.Second)) // this clock runs behind
	r.Flush("request-1")
	want := `{"AttemptLatency":1.5,"AttemptsFailed":2,"DeliveriesSucceeded":3,"DeliveryDelay":[1000,0],"Stack":"Test",` +
		`"_aws":{"Timestamp":1771840800500,"CloudWatchMetrics":[{"Namespace":"Orgops","Dimensions":[["Stack"]],"Metrics":[` +
		`{"Name":"DeliveriesSucceeded","Unit":"Count"},{"Name":"DeliveryDelay","Unit":"Milliseconds"},` +
		`{"Name":"AttemptLatency","Unit":"Milliseconds"},{"Name":"AttemptsFailed","Unit":"Count"}]}]},` +
		`"companies":["acme"],"requestId":"request-1","store":{"trips":3}}` + "\n"
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
	document := metrictest.Document{
		Stack: "Test", Timestamp: now(),
		Values: map[string][]float64{
			"AttemptLatency": {1.5}, "AttemptsFailed": {2}, "DeliveriesSucceeded": {3}, "DeliveryDelay": {1000, 0},
		},
		Others: map[string]any{"companies": []any{"acme"}, "requestId": "request-1", "store": map[string]any{"trips": 3.0}},
	}
	if diff := cmp.Diff([]metrictest.Document{document}, metrictest.Read(t, log.String())); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

// TestRecorder_Flush_Nothing checks that measurements are written once, and that no line is written without any.
func TestRecorder_Flush_Nothing(t *testing.T) {
	t.Parallel()
	r, log := metrictest.New(time.Now)
	asked := 0
	r.Attach("store", func() any { asked++; return asked })
	r.Flush("a")
	r.Trouble(metric.ChangesParked, "acme")
	r.Flush("b")
	r.Flush("c")
	r.Count(metric.LoginsLimited, 1)
	r.Flush("d")
	var got []map[string]any
	for _, d := range metrictest.Read(t, log.String()) {
		got = append(got, d.Others)
	}
	want := []map[string]any{
		{"requestId": "b", "store": 2.0, "companies": []any{"acme"}},
		{"requestId": "d", "store": 4.0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestRecorder_Flush_Limits records all metrics, more values than a line holds and more companies than it names.
func TestRecorder_Flush_Limits(t *testing.T) {
	t.Parallel()
	r, log := metrictest.New(time.Now)
	for _, m := range metric.All() {
		if m.Unit() == metric.Count {
			r.Count(m, 1)
		}
	}
	var working sync.WaitGroup
	for i := range 250 {
		working.Go(func() {
			r.Time(metric.DeliveryDelay, time.Duration(i)*time.Millisecond)
			r.Trouble(metric.AttemptsFailed, strings.Repeat("c", 1+i))
		})
	}
	working.Wait()
	r.Flush("request")
	var sizes []int
	documents := metrictest.Read(t, log.String())
	for _, d := range documents {
		sizes = append(sizes, len(d.Values["DeliveryDelay"]))
		if d.Others["requestId"] != "request" {
			t.Errorf("others %v, want requestId \"request\" among them", d.Others)
		}
	}
	if diff := cmp.Diff([]int{100, 100, 50}, sizes); diff != "" {
		t.Errorf("values per line (-want +got):\n%s", diff)
	}
	if named, _ := documents[0].Others["companies"].([]any); len(named) != 20 {
		t.Errorf("%d companies, want 20", len(named))
	}
	want := map[string]float64{"DeliveryDelay": 250}
	for _, m := range metric.All() {
		if m.Unit() == metric.Count {
			want[m.String()] = 1
		}
	}
	want["AttemptsFailed"] += 250
	if diff := cmp.Diff(want, metrictest.Sums(t, log.String())); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
}

// TestRecorder_Flush_NoRequest checks that without a request no line has a request id.
func TestRecorder_Flush_NoRequest(t *testing.T) {
	t.Parallel()
	r, log := metrictest.New(time.Now)
	for range 150 {
		r.Time(metric.DeliveryDelay, time.Second)
	}
	r.Flush("")
	documents := metrictest.Read(t, log.String())
	if len(documents) != 2 {
		t.Errorf("%d lines, want 2", len(documents))
	}
	for i, d := range documents {
		if len(d.Others) > 0 {
			t.Errorf("line %d: others %v, want none", i, d.Others)
		}
	}
}

// TestRecorder_Nil checks that a nil Recorder ignores every call.
func TestRecorder_Nil(t *testing.T) {
	t.Parallel()
	var r *metric.Recorder
	r.Count(metric.SyncItems, 1)
	r.Trouble(metric.SyncsFailed, "acme")
	r.Time(metric.AttemptLatency, time.Second)
	r.Since(metric.DeliveryDelay, time.Now())
	r.Attach("store", func() any { t.Error("asked"); return nil })
	r.Flush("request")
}

// TestAll checks that every metric has a unique name, and a unit of counts or durations.
func TestAll(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range metric.All() {
		name := m.String()
		if name == "" {
			t.Errorf("metric %d has no name, want one", m)
		}
		if seen[name] {
			t.Errorf("metric %d is named %q, want a unique name", m, name)
		}
		seen[name] = true
	}
	if len(seen) > 22 { // each costs $0.30 a month and deployment
		t.Errorf("%d metrics, want at most 22", len(seen))
	}
}

// TestSchema checks that the test schema refuses documents that CloudWatch refuses.
func TestSchema(t *testing.T) {
	t.Parallel()
	r, log := metrictest.New(time.Now)
	r.Count(metric.SyncItems, 1)
	r.Flush("")
	good := log.String()
	for name, change := range map[string][2]string{
		"no metrics":        {`"Metrics":[{"Name":"SyncItems","Unit":"Count"}]`, `"Metrics":[]`},
		"unknown unit":      {`"Unit":"Count"`, `"Unit":"Items"`},
		"seconds":           {`"Timestamp":`, `"Timestamp":0.`},
		"unknown metric":    {`"SyncItems":1`, `"SyncItem":1`},
		"text as a value":   {`"SyncItems":1`, `"SyncItems":"1"`},
		"unknown dimension": {`"Stack":"Test"`, `"Stacks":"Test"`},
		"two documents":     {good, good[:len(good)-1] + good},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Fatalf("%s: the line does not contain %s", name, change[0])
		}
		probe := &failing{TB: t}
		func() {
			defer func() { _ = recover() }()
			metrictest.Read(probe, bad)
		}()
		if !probe.failed {
			t.Errorf("%s: %s accepted, want it refused", name, bad)
		}
	}
}

// failing fakes a test and records that it failed.
type failing struct {
	testing.TB
	failed bool
}

func (*failing) Helper() {}

func (f *failing) Fatalf(string, ...any) {
	f.failed = true
	panic("failed")
}
