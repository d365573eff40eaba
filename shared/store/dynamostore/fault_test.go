package dynamostore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"orgops/shared/awsclient"
	"orgops/shared/awstest"
	"orgops/shared/id"
	"orgops/shared/store"
	"orgops/shared/store/dynamostore"
	"orgops/shared/store/dynamostream"
)

const many = 1000

// answer is an error as DynamoDB writes it.
func answer(operation string, times, status int, kind, more string) awstest.Step {
	return awstest.Step{
		Operation: operation, Times: times, Status: status,
		Body: fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","Message":"it is so"%s}`, kind, more),
	}
}

func throttled(operation string, times int) awstest.Step {
	return answer(operation, times, 400, "ProvisionedThroughputExceededException", "")
}

const collision = `,"CancellationReasons":[{"Code":"None"},{"Code":"TransactionConflict","Message":"it is so"}]`

// TestStore_Faults: what can be made again is; what was made is made once; what cannot be made in time is unavailable, and
// not made.
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
		trips int   // 0: not stated
		want  error // of Commit
	}{
		{"throttled", []awstest.Step{throttled("PutItem", 1)}, create, 2, nil},
		{"throttled for good", []awstest.Step{throttled("PutItem", many)}, create, 0, store.ErrUnavailable},
		{"the answer is lost", []awstest.Step{{Operation: "PutItem", Lost: true}}, create, 2, nil},
		{"a fault of the service", []awstest.Step{answer("PutItem", 1, 500, "InternalServerError", "")}, create, 2, nil},
		{"a transaction is at work on the item", []awstest.Step{answer("PutItem", 2, 400, "TransactionConflictException", "")}, create, 3, nil},
		{"a transaction meets another", []awstest.Step{answer("TransactWriteItems", 2, 400, "TransactionCanceledException", collision)}, both, 3, nil},
		{"a transaction always meets another", []awstest.Step{answer("TransactWriteItems", many, 400, "TransactionCanceledException", collision)}, both, 0, store.ErrUnavailable},
		{"a transaction is throttled for good", []awstest.Step{throttled("TransactWriteItems", many)}, both, 0, store.ErrUnavailable},
		{"a transaction's answer is lost", []awstest.Step{{Operation: "TransactWriteItems", Lost: true}}, both, 2, nil},
		{"a transaction's answers are lost", []awstest.Step{{Operation: "TransactWriteItems", Lost: true, Times: 3}}, both, 4, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			proxy, meter := dynamo.Through(t), &dynamostore.Meter{}
			s := newStoreAt(t, proxy.Access(), dynamostore.Options{Meter: meter})
			c := store.For(s, id.New())
			proxy.Play(tt.steps...)
			// After a throttle, adaptive mode lets a client that was slow before ask once in two seconds. What never ends well
			// would take ten times that.
			patience := patience
			if tt.want != nil {
				patience = 4 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := c.Commit(ctx, tt.ops(c)...)
			if end, _ := ctx.Deadline(); time.Since(end) > 5*time.Second {
				t.Errorf("it went on for %v after the deadline", time.Since(end))
			}
			// What became of a try that is under way at the deadline is known to nobody here.
			late := tt.want != nil && errors.Is(err, context.DeadlineExceeded)
			if !errors.Is(err, tt.want) && !late || errors.Is(err, store.ErrConflict) {
				t.Fatalf("commit: %v, want %v", err, tt.want)
			}
			if trips := meter.Take().Trips; tt.trips > 0 && trips != tt.trips {
				t.Errorf("%d trips, want %d", trips, tt.trips)
			}
			page, err := c.Query(t.Context(), store.Query{})
			if err != nil {
				t.Fatal(err)
			}
			made := len(tt.ops(c))
			if tt.want != nil {
				made = 0
			}
			if len(page.Items) != made {
				t.Errorf("%d items, want %d", len(page.Items), made)
			}
			for _, item := range page.Items {
				if item.Version != 1 {
					t.Errorf("%s is at version %d: it was written twice", item.Key, item.Version)
				}
			}
		})
	}
}

// TestStore_Away: a service that says that it is away is unavailable, also where its client does not know what it says.
func TestStore_Away(t *testing.T) {
	t.Parallel()
	proxy := dynamo.Through(t)
	c := store.For(newStoreAt(t, proxy.Access(), dynamostore.Options{}), id.New())
	proxy.Play(answer("GetItem", many, 503, "ServiceUnavailable", ""))
	if _, err := c.Get(t.Context(), "A", nil); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
}

// TestStore_Unknown: an answer that never came promises nothing, neither that it was written nor that it was not.
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
		{"a put that is never answered", []awstest.Step{{Operation: "PutItem", Lost: true}, answer("PutItem", many, 500, "InternalServerError", "")}, c.Create("A", "note", struct{}{})},
		{"a removal whose answer is lost", []awstest.Step{{Operation: "DeleteItem", Lost: true}}, gone},
	}
	for _, tt := range tests {
		proxy.Play(tt.steps...)
		err := s.Commit(t.Context(), tt.op)
		if !errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnknown, which promises nothing", tt.name, err)
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
		t.Errorf("another's item: %v, want ErrConflict though the first answer was lost", err)
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
		"query":  func() error { _, err := c.Query(ctx, store.Query{}); return err },
		"commit": func() error { return c.Commit(ctx, c.Create("A", "note", struct{}{})) },
		"several": func() error {
			return c.Commit(ctx, c.Create("A", "note", struct{}{}), c.Create("B", "note", struct{}{}))
		},
	}
	for name, call := range calls {
		err := call()
		if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: %v, want ErrUnavailable", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "top-secret") {
			t.Errorf("%s shows a secret", name)
		}
	}
}
