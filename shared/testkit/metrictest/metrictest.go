// Package metrictest reads the documents that a metric.Recorder writes, and checks them against the specification of their
// format.
package metrictest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"orgops/shared/base/metric"
	"orgops/shared/testkit/logtest"
)

// New makes a recorder of the stack "Test", and its log.
func New(now func() time.Time) (*metric.Recorder, *logtest.Log) {
	l := &logtest.Log{}
	return metric.New(l, "Test", now), l
}

// Document holds one document of a log.
type Document struct {
	Stack     string
	Timestamp time.Time
	Values    map[string][]float64 // by metric
	Others    map[string]any       // all other members
}

// Read returns every document in the lines of a log. A line with "_aws" that is not a valid document ends the test.
func Read(t testing.TB, log string) []Document {
	t.Helper()
	var all []Document
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"_aws"`) {
			all = append(all, read(t, line))
		}
	}
	return all
}

// Sums returns a number for each metric: the sum of a count, or the number of values of a time.
func Sums(t testing.TB, log string) map[string]float64 {
	t.Helper()
	units := map[string]string{}
	for _, m := range metric.All() {
		units[m.String()] = m.Unit()
	}
	sums := map[string]float64{}
	for _, d := range Read(t, log) {
		for name, values := range d.Values {
			for _, v := range values {
				if units[name] == metric.Milliseconds {
					v = 1
				}
				sums[name] += v
			}
		}
	}
	return sums
}

//go:embed emf.schema.json
var schemaText []byte

func read(t testing.TB, line string) Document {
	t.Helper()
	fail := func(what any) { t.Fatalf("not a document of the embedded metric format: %v\n%s", what, line) }
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err != nil {
		fail(err)
	}
	if err := schema(t).Validate(instance); err != nil {
		fail(err)
	}
	if len(line) > 256<<10 {
		fail("more than 256 kB")
	}
	var members map[string]json.RawMessage
	var root struct {
		AWS struct {
			Timestamp         int64
			CloudWatchMetrics []struct {
				Dimensions [][]string
				Metrics    []struct{ Name string }
			}
		} `json:"_aws"`
	}
	if err := json.Unmarshal([]byte(line), &root); err != nil {
		fail(err)
	}
	if err := json.Unmarshal([]byte(line), &members); err != nil {
		fail(err)
	}
	delete(members, "_aws")
	d := Document{Timestamp: time.UnixMilli(root.AWS.Timestamp), Values: map[string][]float64{}, Others: map[string]any{}}
	for _, directive := range root.AWS.CloudWatchMetrics {
		for _, dimension := range directive.Dimensions {
			for _, name := range dimension { // a member of the line, a string
				if err := json.Unmarshal(members[name], &d.Stack); err != nil || d.Stack == "" || len(d.Stack) > 1024 {
					fail("dimension " + name)
				}
				delete(members, name)
			}
		}
		for _, m := range directive.Metrics { // a member of the line, one number or up to 100
			values, ok := numbers(members[m.Name])
			if !ok {
				fail("metric " + m.Name)
			}
			d.Values[m.Name] = values
			delete(members, m.Name)
		}
	}
	for name, value := range members {
		var other any
		if err := json.Unmarshal(value, &other); err != nil {
			fail(err)
		}
		d.Others[name] = other
	}
	return d
}

func numbers(text json.RawMessage) (values []float64, ok bool) {
	var one float64
	if json.Unmarshal(text, &one) == nil {
		return []float64{one}, true
	}
	err := json.Unmarshal(text, &values)
	return values, err == nil && len(values) > 0 && len(values) <= 100
}

func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaText))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("emf.schema.json", text); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("emf.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}
