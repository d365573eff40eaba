package dynamostore_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"orgops/shared/awstest"
	"orgops/shared/store/dynamostore"
	"orgops/shared/store/storetest"
)

var (
	dynamo = awstest.DynamoDB()
	tables atomic.Int64
)

func TestMain(m *testing.M) { os.Exit(dynamo.Run(m)) }

// newStore is a store over a table of its own.
func newStore(t testing.TB, o dynamostore.Options) *dynamostore.Store {
	t.Helper()
	o.Table = fmt.Sprint("table-", tables.Add(1))
	if o.Poll == 0 {
		o.Poll = 20 * time.Millisecond
	}
	s := dynamostore.New(dynamo.Access(t), o)
	if err := s.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{
		Unfinished: 32,
		Open: func(t *testing.T, now func() time.Time) storetest.Driver {
			return newStore(t, dynamostore.Options{Now: now, Consumers: storetest.Consumers(), Unfinished: 32})
		},
	})
}
