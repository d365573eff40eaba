package dynamostore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"orgops/shared/base/awsclient"
	"orgops/shared/base/id"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/storage/store/dynamostream"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
)

const many = 1000

// answer returns a step that answers with an error in DynamoDB's format.
func answer(operation string, times, status int, kind, more string) awstest.Step {
	return awstest.Step{
		Operation: operation, Times: times, Status: status,
		Body: fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","Message":"refused by the test"%s}`, kind, more),
	}
}

func throttled(operation string, times int) awstest.Step {
	return answer(operation, times, 400, "ProvisionedThroughputExceededException", "")
}

// isAny reports whether err is one of the targets.
func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

const collision = `,"CancellationReasons":[{"Code":"None"},{"Code":"TransactionConflict","Message":"refused by the test"}]`

// TestStore_Faults checks that transient faults are retried, that nothing is written twice, and that a write which cannot
// succeed in time is ErrUnavailable and not applied.
func TestStore_Faults(t *testing.T) {
	t.Parallel()
	create := func(c store.Company) []store.Op { return []store.Op{c.Create("A", "note", struct{}{})} }
	both := func(c store.Company) []store.Op {
		return []store.Op{c.Create("A", "note", struct{}{}), c.Create("B", "note", struct{}{})}
	}
	tests := []struct {
		name  string
		steps []awstest.Step
		ops   func(store.Company) []store.Op
		trips int   // 0: not checked
		want  error // of Commit
	}{
		{"throttled", []awstest.Step{throttled("PutItem", 1)}, create, 2, nil},
		{"always throttled", []awstest.Step{throttled("PutItem", many)}, create, 0, store.ErrUnavailable},
		{"response lost", []awstest.Step{{Operation: "PutItem", Lost: true}}, create, 2, nil},
		{"server fault", []awstest.Step{answer("PutItem", 1, 500, "InternalServerError", "")}, create, 2, nil},
		{"item in use by a transaction", []awstest.Step{answer("PutItem", 2, 400, "TransactionConflictException", "")}, create, 3, nil},
		{"transaction conflict", []awstest.Step{answer("TransactWriteItems", 2, 400, "TransactionCanceledException", collision)}, both, 3, nil},
		{"permanent transaction conflict", []awstest.Step{answer("TransactWriteItems", many, 400, "TransactionCanceledException", collision)}, both, 0, store.ErrUnavailable},
		{"transaction always throttled", []awstest.Step{throttled("TransactWriteItems", many)}, both, 0, store.ErrUnavailable},
		{"transaction response lost", []awstest.Step{{Operation: "TransactWriteItems", Lost: true}}, both, 2, nil},
		{"transaction responses lost", []awstest.Step{{Operation: "TransactWriteItems", Lost: true, Times: 3}}, both, 4, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			proxy, meter := dynamo.Through(t), &dynamostore.Meter{}
			s := newStoreAt(t, proxy.Access(), dynamostore.Options{Meter: meter})
			c := store.For(s, id.New())
			_, err := c.Query(t.Context(), store.Query{}) // it also reads the list of spread companies
			errtest.Must(t, err)
			meter.Take()
			proxy.Play(tt.steps...)
			// After a throttle, adaptive mode limits a slow client to one request in two seconds. Waiting for a permanent fault
			// would take ten times that.
			patience, wants, made := patience, []error{nil}, len(tt.ops(c))
			if tt.want != nil {
				// The outcome of a try that is in flight at the deadline is unknown.
				patience, wants, made = 4*time.Second, []error{tt.want, context.DeadlineExceeded}, 0
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err = c.Commit(ctx, tt.ops(c)...)
			if end, _ := ctx.Deadline(); time.Since(end) > 5*time.Second {
				t.Errorf("returned %v after the deadline, want at most 5s", time.Since(end))
			}
			if !isAny(err, wants...) {
				t.Fatalf("commit: %v, want one of %v", err, wants)
			}
			if errors.Is(err, store.ErrConflict) {
				t.Fatalf("commit: %v, want it not to be ErrConflict", err)
			}
			if trips := meter.Take().Trips; tt.trips > 0 && trips != tt.trips {
				t.Errorf("%d trips, want %d", trips, tt.trips)
			}
			page, err := c.Query(t.Context(), store.Query{})
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Items) != made {
				t.Errorf("%d items, want %d", len(page.Items), made)
			}
			for _, item := range page.Items {
				if item.Version != 1 {
					t.Errorf("%s is at version %d, want 1: written once", item.Key, item.Version)
				}
			}
		})
	}
}

// TestStore_Away checks that a 503 is ErrUnavailable even if the client does not know its error code.
func TestStore_Away(t *testing.T) {
	t.Parallel()
	proxy := dynamo.Through(t)
	c := store.For(newStoreAt(t, proxy.Access(), dynamostore.Options{}), id.New())
	proxy.Play(answer("GetItem", many, 503, "ServiceUnavailable", ""))
	if _, err := c.Get(t.Context(), "A", nil); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("get: %v, want ErrUnavailable", err)
	}
}

// TestStore_GetMany_LeftOut reads again what DynamoDB has left out of an answer, and gives up when five answers in turn hold nothing.
func TestStore_GetMany_LeftOut(t *testing.T) {
	t.Parallel()
	proxy := dynamo.Through(t)
	table := newTable()
	c := store.For(newStoreAt(t, proxy.Access(), dynamostore.Options{Table: table}), id.New())
	errtest.Must(t, c.Commit(t.Context(), c.Create("A", "note", struct{}{}), c.Create("B", "note", struct{}{})))
	of := func(key string) string { return fmt.Sprintf(`{"pk":{"S":"C#%s"},"sk":{"S":%q}}`, c.ID(), key) }
	leftOut := func(keys string) string {
		return fmt.Sprintf(`{"Responses":{},"UnprocessedKeys":{%q:{"Keys":[%s],"ConsistentRead":true}}}`, table, keys)
	}
	proxy.Play(awstest.Step{Operation: "BatchGetItem", Status: 200, Body: leftOut(of("B"))})
	ahead, err := c.Ahead(t.Context(), "A", "B")
	errtest.Must(t, err)
	if _, err := ahead.Get(t.Context(), "B", nil); err != nil {
		t.Errorf("the item that was left out first: %v, want it read", err)
	}
	if n := proxy.Calls("BatchGetItem"); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
	busy := awstest.Step{Operation: "BatchGetItem", Status: 200, Body: leftOut(of("A") + "," + of("B"))}
	proxy.Play(busy, busy)
	if _, err := c.Ahead(t.Context(), "A", "B"); err != nil {
		t.Errorf("nothing read twice: %v, want both items read later", err)
	}
	proxy.Play(busy, busy, busy, busy, busy)
	if _, err := c.Ahead(t.Context(), "A", "B"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("nothing read: %v, want ErrUnavailable", err)
	}
}

// TestStore_Unknown checks that without a response Commit reports neither success nor failure.
func TestStore_Unknown(t *testing.T) {
	t.Parallel()
	proxy := dynamo.Through(t)
	s := newStoreAt(t, proxy.Access(), dynamostore.Options{})
	c := store.For(s, id.New())
	entry := store.System().Entry("MARK", "mark", 0, struct{}{})
	if err := s.Commit(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	gone := store.Op{Partition: entry.Partition, Key: entry.Key, Action: store.Delete, Condition: store.IfVersion, Version: 1}
	tests := []struct {
		name  string
		steps []awstest.Step
		op    store.Op
	}{
		{"put without a response", []awstest.Step{{Operation: "PutItem", Lost: true}, answer("PutItem", many, 500, "InternalServerError", "")}, c.Create("A", "note", struct{}{})},
		{"delete with a lost response", []awstest.Step{{Operation: "DeleteItem", Lost: true}}, gone},
	}
	for _, tt := range tests {
		proxy.Play(tt.steps...)
		err := s.Commit(t.Context(), tt.op)
		if !errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: %v, want ErrUnknown", tt.name, err)
		}
		if isAny(err, store.ErrConflict, store.ErrUnavailable) {
			t.Errorf("%s: %v, want only ErrUnknown", tt.name, err)
		}
	}
}

func TestStore_Conflict_AfterLostAnswer(t *testing.T) {
	t.Parallel()
	proxy := dynamo.Through(t)
	s := newStoreAt(t, proxy.Access(), dynamostore.Options{})
	c := store.For(s, id.New())
	if err := c.Commit(t.Context(), c.Create("A", "note", struct{}{})); err != nil {
		t.Fatal(err)
	}
	proxy.Play(awstest.Step{Operation: "PutItem", Lost: true})
	if err := c.Commit(t.Context(), c.Create("A", "note", struct{}{})); !errors.Is(err, store.ErrConflict) {
		t.Errorf("create an existing item: %v, want ErrConflict although the first response was lost", err)
	}
}

func TestStore_Unavailable(t *testing.T) {
	t.Parallel()
	nowhere, err := awsclient.Read(func(name string) string {
		return map[string]string{
			"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "top-secret", "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
		}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	s := dynamostore.New(nowhere, dynamostore.Options{Table: "none", Stream: dynamostream.New(nowhere), Consumers: []string{"alpha"}})
	c := store.For(s, id.New())
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	calls := map[string]func() error{
		"get":    func() error { _, err := c.Get(ctx, "A", nil); return err },
		"many":   func() error { _, err := c.Ahead(ctx, "A", "B"); return err },
		"query":  func() error { _, err := c.Query(ctx, store.Query{}); return err },
		"commit": func() error { return c.Commit(ctx, c.Create("A", "note", struct{}{})) },
		"several": func() error {
			return c.Commit(ctx, c.Create("A", "note", struct{}{}), c.Create("B", "note", struct{}{}))
		},
	}
	for name, call := range calls {
		err := call()
		if !isAny(err, store.ErrUnavailable, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want ErrUnavailable or the deadline", name, err)
		}
		if errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: %v, want it not to be ErrConflict", name, err)
		}
		if got := errtest.Message(err); strings.Contains(got, "top-secret") {
			t.Errorf("%s: error %q, want no secret in it", name, got)
		}
	}
}
