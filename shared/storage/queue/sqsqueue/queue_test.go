package sqsqueue_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"orgops/shared/base/awsclient"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/queuetest"
	"orgops/shared/storage/queue/sqsqueue"
	"orgops/shared/testkit/awstest"
)

var (
	elastic = awstest.SQS()
	queues  atomic.Int64
)

func TestMain(m *testing.M) { os.Exit(elastic.Run(m)) }

// open creates a queue and its dead-letter queue.
func open(t testing.TB, o sqsqueue.Options) *sqsqueue.Queue {
	t.Helper()
	return openAt(t, elastic.Access(t), o)
}

func openAt(t testing.TB, access awsclient.Access, o sqsqueue.Options) *sqsqueue.Queue {
	t.Helper()
	var err error
	if o.URL, o.Dead, err = sqsqueue.CreatePair(t.Context(), access, fmt.Sprintf("queue-%d", queues.Add(1))); err != nil {
		t.Fatal(err)
	}
	return sqsqueue.New(access, o)
}

func TestQueue(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, queuetest.Harness{Open: func(t *testing.T) queue.Queue { return open(t, sqsqueue.Options{}) }})
}
