package integrations_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/recovery"
	"orgops/shared/insight/projection"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/courier"
)

// paused decodes what an integration, and a delivery, shows of a pause.
type paused struct {
	Paused        *delivery.Pause
	NextAttemptAt *time.Time
	WaitingFor    string
}

// pauses returns a service whose endpoint answers a status, and its first delivery that waits for the end of a pause.
func pauses(t *testing.T, status int) (s *service, waiting delivery.Delivery, answer *atomic.Int64) {
	t.Helper()
	s, answer = setup(t), new(atomic.Int64)
	accept := s.verifying(given)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer.Load() == 0 {
			body, _ := io.ReadAll(r.Body) // a part does not verify
			w.WriteHeader(accept(r.Header, body))
			return
		}
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(int(answer.Load()))
	}))
	t.Cleanup(server.Close)
	s.configure("webhook", server.URL)
	s.certify("webhook")
	answer.Store(int64(status))
	for range 5 {
		s.attempt(event(s.clock.Now(), "memory.created"))
	}
	facts, version, err := projection.Load(t.Context(), s.company())
	errtest.Must(t, err)
	facts.Integrations = map[string]projection.Integration{"webhook": {LastFailureAt: s.clock.Now()}}
	errtest.Must(t, s.company().Commit(t.Context(), projection.Save(s.company(), version, facts)))
	waiting = event(s.clock.Now(), "memory.updated")
	waiting.Enqueue(s.clock.Now().Add(-10 * time.Second))
	return s, s.deliver("webhook", waiting), answer
}

// attempt makes an attempt to the endpoint, if it may, and returns the delivery's state after it.
func (s *service) attempt(d delivery.Delivery) delivery.State {
	s.t.Helper()
	done := make(chan courier.Outcome)
	t := &courier.Task{
		Source: courier.Backlog, Company: s.company(), Key: delivery.Key(d.EventID, "webhook"), Incarnation: s.incarnation("webhook"), Delivery: d,
		Done: func(o courier.Outcome) { done <- o },
	}
	if _, began := s.services.Courier().Start(s.t.Context(), t); !began {
		return d.State
	}
	if o := <-done; o != (courier.Outcome{}) {
		s.t.Fatalf("outcome %+v, want none", o)
	}
	return t.Delivery.State
}

// TestPause shows the pause of an endpoint with the integration, in the list, and with each delivery that waits for its end.
func TestPause(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]struct {
		reason delivery.PauseReason
		wait   time.Duration
	}{500: {delivery.PausedFailing, 30 * time.Second}, 429: {delivery.PausedAsked, 10 * time.Minute}} {
		s, waiting, _ := pauses(t, status)
		var one, row paused
		var all struct{ Items []paused }
		first := s.do("GET", "/webhook", nil).Want(200).JSON(&one)
		if one.Paused == nil {
			t.Fatalf("%d: the integration shows no pause", status)
		}
		if one.Paused.Reason != want.reason {
			t.Errorf("%d: reason = %q, want %q", status, one.Paused.Reason, want.reason)
		}
		until := one.Paused.Until
		if off := until.Sub(s.clock.Now().Add(want.wait)).Abs(); off > time.Second {
			t.Errorf("%d: paused until %v, want %v from now", status, until, want.wait)
		}
		s.do("GET", "", nil).Want(200).JSON(&all)
		if diff := cmp.Diff(one.Paused, all.Items[0].Paused); diff != "" {
			t.Errorf("%d: pause in the list differs (-one +list):\n%s", status, diff)
		}
		s.do("GET", "/webhook/deliveries/"+waiting.EventID, nil).Want(200).JSON(&row)
		all.Items = nil
		s.do("GET", "/webhook/deliveries", nil).Want(200).JSON(&all)
		wantRow := paused{NextAttemptAt: &until, WaitingFor: string(want.reason)}
		for _, got := range []paused{row, all.Items[0]} {
			if diff := cmp.Diff(wantRow, got); diff != "" {
				t.Errorf("%d: delivery differs (-want +got):\n%s", status, diff)
			}
		}
		s.do("GET", "/webhook", nil, "If-None-Match", first.Header.Get("ETag")).Want(http.StatusNotModified)
		s.clock.Advance(want.wait)
		one = paused{}
		s.do("GET", "/webhook", nil, "If-None-Match", first.Header.Get("ETag")).Want(200).JSON(&one)
		if one.Paused != nil {
			t.Errorf("%d: pause after its end: %+v, want none", status, one.Paused)
		}
		s.do("GET", "/webhook/deliveries/"+waiting.EventID, nil).Want(200).JSON(&row)
		if row.WaitingFor != "backlog" {
			t.Errorf("%d: after the pause the delivery waits for %q, want backlog", status, row.WaitingFor)
		}
	}
}

// TestResume ends a pause and asks for a recovery of what waits for its end, and of nothing else.
func TestResume(t *testing.T) {
	t.Parallel()
	s, waiting, answer := pauses(t, 500)
	later := waiting
	later.Enqueue(s.clock.Now().Add(time.Hour))
	var one paused
	var r recovery.Recovery
	s.do("GET", "/webhook", nil).Want(200).JSON(&one)
	s.do("POST", "/webhook/resume", nil).Want(http.StatusAccepted).JSON(&r)
	stored := recovery.Stored{Recovery: r, Incarnation: s.incarnation("webhook")}
	for d, want := range map[*delivery.Delivery]bool{&waiting: true, &later: false} {
		if got := stored.Includes(*d, s.clock.Now()); got != want {
			t.Errorf("the recovery includes a delivery due at %v: %t, want %t", d.NextAttemptAt, got, want)
		}
	}
	ended := waiting
	ended.End(delivery.Dead)
	if stored.Includes(ended, s.clock.Now()) {
		t.Error("the recovery includes a dead letter, want what waits alone")
	}
	atEnd := waiting
	atEnd.Enqueue(one.Paused.Until.Add(3 * time.Second))
	if !stored.Includes(atEnd, s.clock.Now()) {
		t.Error("the recovery leaves out a delivery that is due at the end of the pause")
	}
	one = paused{}
	s.do("GET", "/webhook", nil).Want(200).JSON(&one)
	if one.Paused != nil {
		t.Errorf("pause = %+v after it was ended, want none", one.Paused)
	}
	answer.Store(0)
	if got := s.attempt(waiting); got != delivery.Delivered {
		t.Errorf("state = %s, want an attempt that is delivered", got)
	}
	s.do("POST", "/github/resume", nil).Want(http.StatusNotFound)
	s.do("POST", "/webhook/resume", nil).Want(http.StatusAccepted) // without a pause, it sends what is due
}
