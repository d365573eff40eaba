package queue_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/storage/queue"
)

// settled records how a worker settles messages.
type settled struct {
	queue.Queue
	released []time.Duration
	buried   int
}

func (s *settled) Release(_ context.Context, _ queue.Received, after time.Duration) error {
	s.released = append(s.released, after)
	return nil
}

func (s *settled) Bury(context.Context, queue.Received, string) error {
	s.buried++
	return nil
}

// TestWorker_Settle_Failure delivers a failed message again after seconds, then ever later, and buries it after hours.
func TestWorker_Settle_Failure(t *testing.T) {
	t.Parallel()
	q := &settled{}
	w := queue.Worker{Queue: q, Logger: slog.New(slog.DiscardHandler), Handle: func(context.Context, queue.Received) (time.Time, error) {
		return time.Time{}, errors.New("throttled")
	}}
	for n := 1; q.buried == 0; n++ {
		w.Settle(t.Context(), queue.Received{Receives: n})
	}
	first := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}
	if diff := cmp.Diff(first, q.released[:4]); diff != "" {
		t.Errorf("first waits differ (-want +got):\n%s", diff)
	}
	if got, want := q.released[len(q.released)-1], 30*time.Minute; got != want {
		t.Errorf("the last wait is %v, want %v", got, want)
	}
	var all time.Duration
	for _, wait := range q.released {
		all += wait
	}
	if all < 4*time.Hour {
		t.Errorf("the message is buried after %v, want hours", all)
	}
}
