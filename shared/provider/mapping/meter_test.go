package mapping

import (
	"context"
	"errors"
	"testing"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/testkit/errtest"
)

// TestMeter_Late ends an evaluation whose time is up. The arrival may be sent again, because a faster machine accepts it.
func TestMeter_Late(t *testing.T) {
	t.Parallel()
	e, err := newExpression("[.payload[] | tostring]")
	errtest.Must(t, err)
	m := newMeter(t.Context(), time.Now().Add(-time.Second))
	_, err = e.value(&input{evaluation: &evaluation{meter: m, arrival: Arrival{Payload: make([]any, 1000)}}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v, want %v", err, context.DeadlineExceeded)
	}
	if got := fault.KindOf(m.conclude(t.Context())); got != fault.Unavailable {
		t.Errorf("kind = %s, want %s", got, fault.Unavailable)
	}
}
