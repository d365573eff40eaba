package courier_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/webhook/courier"
)

// TestCourier_Start_Overload checks that attempts without an answer open the breaker only if the endpoint has answered no
// other attempt meanwhile.
func TestCourier_Start_Overload(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		answered bool
		want     delivery.State
	}{
		{"hanging", false, delivery.Scheduled},
		{"overloaded", true, delivery.Delivered},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, time.Minute, func(d *courier.Deps) { d.First = 3 * time.Second })
			r.Go(func(ctx context.Context) {
				_ = r.Serve(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil })
			})
			r.receiver.Answer(func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
			var attempts sync.WaitGroup
			for n := range 5 { // as many consecutive failures as open the breaker
				attempts.Go(func() { r.first(n) })
				r.receiver.Next()
			}
			r.receiver.Answer(nil)
			r.Clock.Advance(time.Second)
			if tt.answered {
				r.wantFirst(10, delivery.Delivered)
			}
			attempts.Wait()
			r.wantFirst(11, tt.want)
		})
	}
}

// first makes the first attempt of the n-th delivery, and returns the delivery after it.
func (r *running) first(n int) delivery.Delivery {
	done := make(chan courier.Outcome)
	t := &courier.Task{Source: courier.Feed, Company: r.Company("a"), Endpoint: r.endpoints(1)[0], Delivery: r.delivery(), Done: func(o courier.Outcome) { done <- o }}
	t.Delivery.EventID = string(rune('a' + n))
	t.Delivery.Payload = json.RawMessage(fmt.Sprintf(`{"id":%q}`, t.Delivery.EventID))
	t.Key = delivery.Key(t.Delivery.EventID, "webhook")
	r.Start(r.T.Context(), t)
	if o := <-done; o.Err != nil {
		r.T.Error(o.Err)
	}
	return t.Delivery
}

// wantFirst makes a first attempt and checks the delivery's state after it.
func (r *running) wantFirst(n int, want delivery.State) {
	r.T.Helper()
	if d := r.first(n); d.State != want {
		r.T.Errorf("state = %s, want %s", d.State, want)
	}
}
