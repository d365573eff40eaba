package courier_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/courier"
)

// TestCourier_Deliver_Overload checks that attempts without an answer open the breaker only if the endpoint has answered no
// other attempt meanwhile.
func TestCourier_Deliver_Overload(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		answered bool
		want     courier.State
	}{
		{"hanging", false, courier.Deferred},
		{"overloaded", true, courier.Done},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, time.Minute)
			e := r.endpoints(1)[0]
			r.receiver.Answer(func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
			var attempts sync.WaitGroup
			for range 5 { // as many consecutive failures as open the breaker
				attempts.Go(func() {
					d := r.delivery()
					if _, err := r.Deliver(t.Context(), e, &d, 3*time.Second); err != nil {
						t.Error(err)
					}
				})
				r.receiver.Next()
			}
			r.receiver.Answer(nil)
			r.Clock.Advance(time.Second)
			if tt.answered {
				r.wantState(e, courier.Done)
			}
			attempts.Wait()
			r.wantState(e, tt.want)
		})
	}
}

// wantState makes an attempt and checks what Deliver did.
func (r *running) wantState(e *courier.Endpoint, want courier.State) {
	r.T.Helper()
	d := r.delivery()
	result, err := r.Deliver(r.T.Context(), e, &d, 10*time.Second)
	errtest.Must(r.T, err)
	if result.State != want {
		r.T.Errorf("state = %v, want %v", result.State, want)
	}
}
