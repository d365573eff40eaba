package start_test

import (
	"context"
	"log/slog"
	"testing"

	"orgops/shared/lambda/start"
)

// TestGuard: a panic fails its own invocation, and no other.
func TestGuard(t *testing.T) {
	t.Parallel()
	h := start.Guard(slog.New(slog.DiscardHandler), func(_ context.Context, n int) (int, error) { return 10 / n, nil })
	if got, err := h(t.Context(), 0); err == nil {
		t.Errorf("got %d without an error", got)
	}
	if got, err := h(t.Context(), 5); err != nil || got != 2 {
		t.Errorf("got %d, %v", got, err)
	}
}
