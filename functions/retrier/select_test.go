package retrier_test

import (
	"encoding/json"
	"testing"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/testkit/errtest"
)

// TestRetrier_Selected sends a delivery that was held because its transformation failed. The one of now is evaluated, and the same
// bytes are sent again after a failure.
func TestRetrier_Selected(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.receiver.Transformed = true
	configure := func(filter, transform string) {
		t.Helper()
		r.Change("a", "webhook", func(i *integration.Integration) {
			var config map[string]any
			errtest.Must(t, json.Unmarshal(i.Config, &config))
			config["filter"], config["transform"] = filter, transform
			i.Config, _ = json.Marshal(config)
		})
		r.Deps.Courier.Forget("a") // as the dispatcher does
	}
	configure("", ".data.none")
	j := r.deliver(1, func(d *delivery.Delivery) {
		d.Whole = true
	})
	again := func() delivery.Job {
		d := r.record(j)
		d.Restart(r.Clock.Now())
		r.save(d)
		return job(d)
	}
	want := func(because, detail string) {
		t.Helper()
		d := r.record(j)
		got, wanted := [3]string{string(d.State), d.HeldBecause, d.HeldDetail}, [3]string{string(delivery.Held), because, detail}
		if got != wanted {
			t.Errorf("the delivery is %q, want %q", got, wanted)
		}
	}
	r.handle(j)
	want(delivery.HeldTransform, "the transform gives null; it must give an object or a list")
	configure(`.data.title == "B"`, "")
	r.handle(again())
	want(delivery.HeldFilter, "the filter leaves the event out")
	r.wantSent(0)
	configure("", "{text: .data.title}")
	r.receiver.Status(500)
	r.handle(again())
	configure("", "{other: .data.title}")
	r.Clock.Set(*r.record(j).NextAttemptAt)
	r.receiver.Status(204)
	r.handle(job(r.record(j)))
	for range 2 {
		if got := string(r.receiver.Next().Body); got != `{"text":"A"}` {
			t.Errorf("sent %s, want what the transformation gave first", got)
		}
	}
}
