package courier_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/courier"
)

// TestCourier_Record_Together writes records together that one commit cannot hold. A record that the store refuses fails alone.
func TestCourier_Record_Together(t *testing.T) {
	t.Parallel()
	r := setup(t, time.Minute)
	const large = 40
	outcomes := map[string]chan courier.Outcome{}
	start := func(company, event string, size int) {
		done := make(chan courier.Outcome, 1)
		outcomes[event] = done
		d := r.delivery()
		d.EventID, d.Payload = event, json.RawMessage(fmt.Sprintf("%q", strings.Repeat("x", size)))
		d.Hold("sandbox")
		task := &courier.Task{Source: courier.Feed, Company: r.Company(company), Delivery: d, Done: func(o courier.Outcome) { done <- o }}
		task.Key = delivery.Key(event, "webhook")
		r.Start(t.Context(), task)
	}
	for n := range large {
		start("a", fmt.Sprint("large", n), store.MaxCommit/(large-4))
	}
	start("a", "refused", store.MaxBody)
	start("b", "small", 10)
	r.Go(func(ctx context.Context) {
		_ = r.Serve(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil })
	})
	o := <-outcomes["small"]
	errtest.Must(t, o.Err)
	if o := <-outcomes["refused"]; !errors.Is(o.Err, store.ErrTooLarge) {
		t.Errorf("outcome of a record that is too large = %v, want %v", o.Err, store.ErrTooLarge)
	}
	for n := range large {
		if o := <-outcomes[fmt.Sprint("large", n)]; o.Err != nil {
			t.Errorf("outcome of a record with others = %v, want none", o.Err)
		}
	}
	if !r.Writable("a") {
		t.Error("records of a company are not written because one was too large")
	}
}
