package simqueue_test

import (
	"testing"
	"time"

	"orgops/local/suite/simulate/simqueue"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/queuetest"
)

func TestQueue(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, queuetest.Harness{
		Open: func(*testing.T) queue.Queue { return simqueue.Driver{Queue: simqueue.New(), Now: time.Now} },
	})
}
