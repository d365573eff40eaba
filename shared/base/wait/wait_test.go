package wait_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"orgops/shared/base/wait"
)

func TestFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		begun := time.Now()
		if !wait.For(ctx, 0) || !wait.For(ctx, 20*time.Second) || time.Since(begun) != 20*time.Second {
			t.Errorf("waited %v", time.Since(begun))
		}
		if wait.For(ctx, time.Hour) || time.Since(begun) != time.Minute {
			t.Errorf("waited %v for a context that ends after a minute", time.Since(begun))
		}
		if wait.For(ctx, 0) || wait.For(ctx, time.Hour) || time.Since(begun) != time.Minute {
			t.Error("waited after the context had ended")
		}
	})
}
