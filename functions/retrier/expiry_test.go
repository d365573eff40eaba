package retrier_test

import (
	"net/http"
	"testing"
	"time"

	"orgops/shared/domain/delivery"
)

// TestRetrier_LateRecovery makes all attempts of a delivery that is recovered in the last hour of its 30 days.
func TestRetrier_LateRecovery(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.receiver.Status(http.StatusInternalServerError)
	j := r.deliver(1, func(d *delivery.Delivery) {
		d.CreatedAt = r.Clock.Now().Add(time.Hour - delivery.Kept)
		d.Restart(r.Clock.Now())
	})
	attempts := 0
	for d := r.record(j); d.Open(); d = r.record(j) {
		r.Clock.Set(*d.NextAttemptAt)
		r.handle(job(d))
		attempts++
	}
	if got, want := attempts, 10; got != want {
		t.Errorf("the recovery made %d attempts, want %d", got, want)
	}
	if got := r.record(j).State; got != delivery.Dead {
		t.Errorf("state %s after the last attempt, want %s", got, delivery.Dead)
	}
}
