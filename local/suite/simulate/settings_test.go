package simulate_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/local/suite/simulate/simqueue"
	"orgops/shared/testkit/errtest"
)

// properties holds what the simulation takes from the template: mappings, functions and queues.
type properties struct {
	BatchSize, ParallelizationFactor, MaximumRetryAttempts, MaximumRecordAgeInSeconds, MaximumBatchingWindowInSeconds, TumblingWindowInSeconds int
	Timeout, VisibilityTimeout                                                                                                                 int
	BisectBatchOnFunctionError                                                                                                                 bool
	ScalingConfig                                                                                                                              struct{ MaximumConcurrency int }
	RedrivePolicy                                                                                                                              struct{ MaxReceiveCount int }
	FunctionResponseTypes                                                                                                                      []string
	FilterCriteria                                                                                                                             struct{ Filters []struct{ Pattern string } }
}

// template reads the template of the infrastructure and finds a resource by the start of its name and the text in its type.
func template(t *testing.T) func(name, kind string) properties {
	t.Helper()
	raw, err := os.ReadFile("../../../infra/testdata/Orgops.template.json")
	errtest.Must(t, err)
	var all struct {
		Resources map[string]struct {
			Type       string
			Properties json.RawMessage
		}
	}
	errtest.Must(t, json.Unmarshal(raw, &all))
	return func(name, kind string) (p properties) {
		t.Helper()
		for _, id := range sortedKeys(all.Resources) {
			if r := all.Resources[id]; strings.HasPrefix(id, name) && r.Type == kind {
				errtest.Must(t, json.Unmarshal(r.Properties, &p))
				return p
			}
		}
		t.Fatalf("the template has no %s %s", kind, name)
		return p
	}
}

// Types of resources.
const (
	mappingType  = "AWS::Lambda::EventSourceMapping"
	functionType = "AWS::Lambda::Function"
	queueType    = "AWS::SQS::Queue"
)

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// TestSettings_Stream compares the simulated mappings on the stream with those of the template.
func TestSettings_Stream(t *testing.T) {
	t.Parallel()
	find := template(t)
	for name, f := range map[string]following{"projector": projecting(), "dispatcher": dispatching()} {
		m := find("Events"+name+"FunctionChanges", mappingType)
		got := following{
			batch: m.BatchSize, parallel: m.ParallelizationFactor, attempts: m.MaximumRetryAttempts, age: seconds(m.MaximumRecordAgeInSeconds),
			window: seconds(m.MaximumBatchingWindowInSeconds), tumbling: seconds(m.TumblingWindowInSeconds), timeout: seconds(find("Events"+name+"Function", functionType).Timeout),
		}
		if diff := cmp.Diff(f, got, cmp.AllowUnexported(following{})); diff != "" {
			t.Errorf("%s (-simulated +template):\n%s", name, diff)
		}
		if m.BisectBatchOnFunctionError {
			t.Errorf("%s halves failed batches, but the simulation does not", name)
		}
	}
}

// TestSettings_Queues compares the simulated mappings on the queues with those of the template.
func TestSettings_Queues(t *testing.T) {
	t.Parallel()
	find := template(t)
	for name, tt := range map[string]struct {
		queue string
		want  working
	}{"retrier": {"EventsRetriesC", retrying()}, "syncer": {"EventsSyncsD0", syncing()}, "notifier": {"EventsNotices7", telling()}} {
		m, q := find("Events"+name+"FunctionWork", mappingType), find(tt.queue, queueType)
		got := working{
			batch: m.BatchSize, visibility: seconds(q.VisibilityTimeout), most: m.ScalingConfig.MaximumConcurrency,
			timeout: seconds(find("Events"+name+"Function", functionType).Timeout),
		}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(working{})); diff != "" {
			t.Errorf("%s (-simulated +template):\n%s", name, diff)
		}
		if got := q.RedrivePolicy.MaxReceiveCount; got != simqueue.MaxReceives {
			t.Errorf("%s: %d receives at most, want the simulated %d", name, got, simqueue.MaxReceives)
		}
	}
}

// TestSettings_Filters checks that the filters of the template name the entities that the simulation passes on.
func TestSettings_Filters(t *testing.T) {
	t.Parallel()
	find := template(t)
	for name, entities := range map[string][]string{"projector": projected(), "dispatcher": dispatched()} {
		var pattern struct {
			Dynamodb struct {
				NewImage struct {
					Entity struct{ S []string } `json:"entity"`
				}
			} `json:"dynamodb"`
		}
		first := find("Events"+name+"FunctionChanges", mappingType).FilterCriteria.Filters[0].Pattern
		errtest.Must(t, json.Unmarshal([]byte(first), &pattern))
		if diff := cmp.Diff(entities, pattern.Dynamodb.NewImage.Entity.S); diff != "" {
			t.Errorf("%s (-simulated +template):\n%s", name, diff)
		}
	}
}
