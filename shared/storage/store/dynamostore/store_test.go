package dynamostore_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"orgops/shared/base/awsclient"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/storage/store/dynamostream"
	"orgops/shared/storage/store/storetest"
	"orgops/shared/testkit/awstest"
)

var (
	dynamo = awstest.DynamoDB()
	moto   = awstest.Moto()
	tables atomic.Int64
)

func TestMain(m *testing.M) { os.Exit(awstest.Run(m, dynamo, moto)) }

// newStore returns a store over a new table.
func newStore(t testing.TB, o dynamostore.Options) *dynamostore.Store {
	t.Helper()
	return newStoreAt(t, dynamo.Access(t), o)
}

func newStoreAt(t testing.TB, access awsclient.Access, o dynamostore.Options) *dynamostore.Store {
	t.Helper()
	if o.Table == "" {
		o.Table = newTable()
	}
	if o.Poll == 0 {
		o.Poll = 20 * time.Millisecond
	}
	if o.Stream == nil {
		o.Stream = dynamostream.New(access)
	}
	if err := dynamostore.Create(t.Context(), access, o.Table, dynamostore.Shape{Stream: true}); err != nil { // without TTL: tests sweep
		t.Fatal(err)
	}
	return dynamostore.New(access, o)
}

func newTable() string { return fmt.Sprint("table-", tables.Add(1)) }

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness())
}

// harness returns what the driver's suite needs.
func harness() storetest.Harness {
	return storetest.Harness{
		Unfinished: 32,
		Open: func(t *testing.T, now func() time.Time) storetest.Driver {
			table := newTable()
			return swept{newStore(t, dynamostore.Options{Table: table, Now: now, Consumers: storetest.Consumers(), Unfinished: 32}), table, now}
		},
		Sweep: func(t *testing.T, d storetest.Driver) { d.(swept).sweep(t) },
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	o := dynamostore.Options{Table: newTable()}
	for range 2 { // repeating it is no error
		newStore(t, o)
	}
}
