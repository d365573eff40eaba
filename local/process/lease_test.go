package process

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"orgops/shared/storage/store"
)

const patience = 20 * time.Second

// quickLease returns a lease with a short renewal interval. A test waits for its expiry only if it does not renew it.
func quickLease(st store.Store, lasts time.Duration) *lease {
	l := newLease(st, slog.New(slog.DiscardHandler), time.Now())
	l.every, l.lasts = 50*time.Millisecond, lasts
	return l
}

func table(t *testing.T) store.Store {
	t.Helper()
	e, err := OpenEmbedded(t.Context(), t.TempDir(), false, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e.Store
}

func take(t *testing.T, l *lease) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return l.take(ctx)
}

func TestLease_Renewed(t *testing.T) {
	t.Parallel()
	st := table(t)
	first, second := quickLease(st, patience/2), quickLease(st, patience/2)
	if err := take(t, first); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- first.keep(ctx) }()
	if err := take(t, second); err == nil || !strings.Contains(err.Error(), first.body.Holder) {
		t.Errorf("a renewed lease was taken over: %v", err)
	}
	stop()
	if err := <-kept; err != nil {
		t.Errorf("keep: %v", err)
	}
	if err := first.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := take(t, second); err != nil || time.Since(begun) >= second.lasts {
		t.Errorf("after its release: %v, in %v", err, time.Since(begun))
	}
}

func TestLease_Abandoned(t *testing.T) {
	t.Parallel()
	st := table(t)
	first, second := quickLease(st, 400*time.Millisecond), quickLease(st, 400*time.Millisecond)
	if err := take(t, first); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := take(t, second); err != nil || time.Since(begun) < second.lasts {
		t.Fatalf("taking over an unrenewed lease: %v, in %v", err, time.Since(begun))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := first.keep(ctx); err == nil {
		t.Error("keep returned no error after the lease was lost")
	}
	if err := first.release(t.Context()); err != nil {
		t.Error(err)
	}
	if body, version, err := second.read(t.Context()); err != nil || version == 0 || body.ID != second.body.ID {
		t.Errorf("a process that had lost the lease released another's: %v, version %d, %v", body, version, err)
	}
}

// TestLease_Removed removes the lease, as an operator may: its holder creates it again.
func TestLease_Removed(t *testing.T) {
	t.Parallel()
	st := table(t)
	l := quickLease(st, patience)
	if err := take(t, l); err != nil {
		t.Fatal(err)
	}
	if err := l.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first finds it gone
		if err := l.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if body, version, err := l.read(t.Context()); err != nil || version == 0 || body.ID != l.body.ID {
		t.Errorf("got %v, version %d, %v", body, version, err)
	}
}
