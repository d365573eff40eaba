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
		tests := []struct {
			name  string
			d     time.Duration
			whole bool          // what For returns
			at    time.Duration // when it returns, since the start
		}{
			{"nothing", 0, true, 0},
			{"20 seconds", 20 * time.Second, true, 20 * time.Second},
			{"longer than the context", time.Hour, false, time.Minute},
			{"nothing after the context's end", 0, false, time.Minute},
			{"an hour after the context's end", time.Hour, false, time.Minute},
		}
		for _, tt := range tests {
			if whole := wait.For(ctx, tt.d); whole != tt.whole {
				t.Errorf("%s: For = %t, want %t", tt.name, whole, tt.whole)
			}
			if at := time.Since(begun); at != tt.at {
				t.Errorf("%s: returned after %v, want %v", tt.name, at, tt.at)
			}
		}
	})
}

// TestLater checks that the order of two times does not matter.
func TestLater(t *testing.T) {
	t.Parallel()
	early := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	late := early.Add(time.Nanosecond)
	for _, got := range []time.Time{wait.Later(early, late), wait.Later(late, early)} {
		if !got.Equal(late) {
			t.Errorf("the later of %v and %v is %v, want the second", early, late, got)
		}
	}
}
