package start_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/metric"
	"orgops/shared/run/lambda/start"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/metrictest"
)

// TestGuard checks that a panic fails its own invocation and no other.
func TestGuard(t *testing.T) {
	t.Parallel()
	h := start.Guard(slog.New(slog.DiscardHandler), func(_ context.Context, n int) (int, error) { return 10 / n, nil })
	if got, err := h(t.Context(), 0); err == nil {
		t.Errorf("the invocation that panics gave %d, want an error", got)
	}
	got, err := h(t.Context(), 5)
	errtest.Must(t, err)
	if got != 2 {
		t.Errorf("the next invocation gave %d, want 2", got)
	}
}

// TestMetered writes the metrics when an invocation ends, also after an error or a panic, with the invocation's id.
func TestMetered(t *testing.T) {
	t.Parallel()
	metrics, log := metrictest.New(time.Now)
	h := start.Metered(metrics, start.Guard(slog.New(slog.DiscardHandler), func(_ context.Context, n int) (int, error) {
		metrics.Count(metric.SyncItems, 3)
		if n == 1 {
			return 0, errors.New("failed")
		}
		return 10 / n, nil
	}))
	var ids []any
	for n := range 3 {
		ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: strconv.Itoa(n)})
		_, err := h(ctx, n)
		if (err == nil) != (n == 2) {
			t.Errorf("%d: err = %v, want one except for 2", n, err)
		}
	}
	for _, d := range metrictest.Read(t, log.String()) {
		ids = append(ids, d.Others["requestId"])
		if got := d.Values["SyncItems"][0]; got != 3 {
			t.Errorf("SyncItems = %g, want 3: %+v", got, d)
		}
	}
	if diff := cmp.Diff([]any{"0", "1", "2"}, ids); diff != "" {
		t.Errorf("ids of the documents (-want +got):\n%s", diff)
	}
}

// TestWithMargin checks that a handler's context ends early enough to answer.
func TestWithMargin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := start.WithMargin(func(ctx context.Context, _ int) (time.Duration, error) {
			end, ok := ctx.Deadline()
			if !ok {
				return 0, errors.New("no deadline")
			}
			return time.Until(end), nil
		})
		for given, want := range map[time.Duration]time.Duration{5 * time.Minute: 295 * time.Second, 5 * time.Second: 4500 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), given)
			left, err := h(ctx, 0)
			cancel()
			errtest.Must(t, err)
			if left != want {
				t.Errorf("of a timeout of %v the handler has %v, want %v", given, left, want)
			}
		}
		if _, err := h(t.Context(), 0); err == nil {
			t.Error("a context without a deadline was given one")
		}
	})
}
