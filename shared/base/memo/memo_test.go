package memo_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"orgops/shared/base/memo"
)

type key string

// TestGet loads each key once in a context with a memo.
func TestGet(t *testing.T) {
	t.Parallel()
	loads := 0
	get := func(ctx context.Context, k key) int {
		n, err := memo.Get(ctx, k, func(context.Context) (int, error) { loads++; return loads, nil })
		if err != nil {
			t.Error(err)
		}
		return n
	}
	ctx := memo.With(t.Context())
	for i, tt := range []struct {
		ctx  context.Context
		key  key
		want int
	}{{ctx, "a", 1}, {ctx, "a", 1}, {ctx, "b", 2}, {memo.With(ctx), "a", 3}, {t.Context(), "a", 4}, {t.Context(), "a", 5}} {
		if got := get(tt.ctx, tt.key); got != tt.want {
			t.Errorf("get %d returned load %d, want %d", i, got, tt.want)
		}
	}
}

// TestGet_Error gives an error to every caller that waits for the load, and loads again for a later caller.
func TestGet_Error(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, fail, errOops := memo.With(t.Context()), make(chan struct{}), errors.New("oops")
		results := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := memo.Get(ctx, key("a"), func(context.Context) (int, error) { <-fail; return 0, errOops })
				results <- err
			}()
		}
		synctest.Wait()
		fail <- struct{}{} // a second load would wait for ever
		for range 2 {
			if err := <-results; !errors.Is(err, errOops) {
				t.Errorf("error = %v, want %v", err, errOops)
			}
		}
		n, err := memo.Get(ctx, key("a"), func(context.Context) (int, error) { return 7, nil })
		if err != nil {
			t.Error(err)
		}
		if n != 7 {
			t.Errorf("a later get returned %d, want 7", n)
		}
	})
}

// TestGet_Panic does not leave the others waiting.
func TestGet_Panic(t *testing.T) {
	t.Parallel()
	ctx := memo.With(t.Context())
	func() {
		defer func() { _ = recover() }()
		_, _ = memo.Get(ctx, key("a"), func(context.Context) (int, error) { panic("oops") })
	}()
	n, err := memo.Get(ctx, key("a"), func(context.Context) (int, error) { return 7, nil })
	if err != nil {
		t.Error(err)
	}
	if n != 7 {
		t.Errorf("a later get returned %d, want 7", n)
	}
}

// TestGet_Ended stops waiting when the caller's context ends.
func TestGet_Ended(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := memo.With(t.Context())
		ends, end := context.WithCancel(ctx)
		loaded := make(chan struct{})
		go func() { _, _ = memo.Get(ctx, key("a"), func(context.Context) (int, error) { <-loaded; return 7, nil }) }()
		synctest.Wait()
		end()
		if _, err := memo.Get(ends, key("a"), func(context.Context) (int, error) { return 8, nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want %v", err, context.Canceled)
		}
		close(loaded)
	})
}

// TestGet_Context runs a load with the context of the memo, so that it does not depend on which caller came first.
func TestGet_Context(t *testing.T) {
	t.Parallel()
	ctx := memo.With(t.Context())
	first, end := context.WithCancel(ctx)
	end()
	if _, err := memo.Get(first, key("a"), func(ctx context.Context) (int, error) { return 0, ctx.Err() }); err != nil {
		t.Errorf("load with a caller whose context has ended: %v, want the memo's context", err)
	}
}
