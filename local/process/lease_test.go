package process

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
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
	if got := errtest.Message(take(t, second)); !strings.Contains(got, first.body.Holder) {
		t.Errorf("taking over a renewed lease: error %q, want one with the holder %q", got, first.body.Holder)
	}
	stop()
	if err := <-kept; err != nil {
		t.Errorf("keep: %v", err)
	}
	if err := first.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	errtest.Must(t, take(t, second))
	if took := time.Since(begun); took >= second.lasts {
		t.Errorf("a released lease was taken in %v, want less than %v", took, second.lasts)
	}
}

// wantHeld checks that a process holds the lease.
func wantHeld(t *testing.T, l *lease) {
	t.Helper()
	body, version, err := l.read(t.Context())
	errtest.Must(t, err)
	if version == 0 {
		t.Error("the lease does not exist")
	}
	if body.ID != l.body.ID {
		t.Errorf("holder of the lease = %s, want %s", body.ID, l.body.ID)
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
	errtest.Must(t, take(t, second))
	if took := time.Since(begun); took < second.lasts {
		t.Fatalf("an unrenewed lease was taken over in %v, want %v or more", took, second.lasts)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := first.keep(ctx); err == nil {
		t.Error("keep returned no error after the lease was lost")
	}
	if err := first.release(t.Context()); err != nil {
		t.Error(err)
	}
	wantHeld(t, second) // a process that has lost the lease does not release another's
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
	wantHeld(t, l)
}
