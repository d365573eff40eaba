package retrier_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/functions/retrier"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

func TestRetrier_Delivered(t *testing.T) {
	t.Parallel()
	r := setup(t)
	j := r.deliver(1)
	r.wantDone("the message", r.handle(j), 1)
	r.wantRecord(j, delivery.Delivery{Head: delivery.Head{State: delivery.Delivered, Made: 2, Generation: 1}})
	d := r.record(j)
	want := []delivery.Attempt{{Number: 1, State: delivery.Failed}, {Number: 2, State: delivery.Delivered, Status: 204}}
	if diff := cmp.Diff(want, d.Attempts, cmpopts.IgnoreFields(delivery.Attempt{}, "At", "LatencyMS")); diff != "" {
		t.Errorf("attempts differ (-want +got):\n%s", diff)
	}
	if got := r.receiver.Next(); string(got.Body) != string(d.Payload) {
		t.Errorf("sent %s, want %s", got.Body, d.Payload)
	}
	r.wantDone("the message, received again,", r.handle(j), 1)
}

// TestRetrier_Schedule makes all attempts of a delivery that never succeeds. Each attempt ends its message and asks for the
// next one.
func TestRetrier_Schedule(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.receiver.Status(500)
	j := r.deliver(1)
	waits := []time.Duration{
		5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
	for n, want := range waits {
		r.wantDone("the message", r.handle(j), n+1)
		d := r.record(j)
		r.wantWait(*d.NextAttemptAt, want*8/10, want*12/10)
		r.wantRecord(j, delivery.Delivery{Head: delivery.Head{State: delivery.Scheduled, NextAttemptAt: d.NextAttemptAt, Generation: n + 2, Made: n + 2}})
		r.wantDone("a copy of the message", r.handle(j), n+1)
		j = job(d)
		if early := r.handle(j); !early.Equal(*d.NextAttemptAt) {
			t.Errorf("attempt %d: an early message is due at %v, want %v", n+3, early, *d.NextAttemptAt)
		}
		r.wantSent(n + 1)
		r.Clock.Set(*d.NextAttemptAt)
	}
	r.wantDone("the message, after the last attempt,", r.handle(j), 9)
	r.wantRecord(j, delivery.Delivery{Head: delivery.Head{State: delivery.Dead, Generation: 9, Made: 10}})
	if got := len(r.record(j).Attempts); got != 10 {
		t.Errorf("the log has %d attempts, want 10", got)
	}
}

func TestRetrier_Answers(t *testing.T) {
	t.Parallel()
	enabled := endpoint{State: integration.Certified, Enabled: true}
	gone := endpoint{State: integration.Certified, Disabled: integration.DisabledGone}
	tests := []struct {
		name     string
		answer   http.HandlerFunc
		state    delivery.State
		least    time.Duration // 0: no further attempt
		endpoint endpoint
	}{
		{"redirect", func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "/", http.StatusMovedPermanently)
		}, delivery.Scheduled, 4 * time.Minute, enabled},
		{"gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }, delivery.Failed, 0, gone},
		{"throttled", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7200")
			w.WriteHeader(429)
		}, delivery.Scheduled, 2 * time.Hour, enabled},
		{"Retry-After sooner than the schedule, of this delivery alone", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(409)
		}, delivery.Scheduled, 4 * time.Minute, enabled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.receiver.Answer(tt.answer)
			j := r.deliver(1)
			r.wantDone("the message", r.handle(j), 1)
			d := r.record(j)
			if d.State != tt.state {
				t.Errorf("state = %q, want %q", d.State, tt.state)
			}
			if tt.least > 0 {
				r.wantWait(*d.NextAttemptAt, tt.least, 24*time.Hour)
			}
			r.wantEndpoint(tt.endpoint)
		})
	}
}

func TestRetrier_Held(t *testing.T) {
	t.Parallel()
	tests := []struct {
		because string
		change  func(*running)
	}{
		{"disabled", func(r *running) { r.Change("a", "webhook", func(i *integration.Integration) { i.Enabled = false }) }},
		{"sandbox", func(r *running) { r.Clock.Advance(integration.CertifiedFor) }},
		{"deleted", func(r *running) {
			c := r.Company("a")
			errtest.Must(r.T, c.Commit(r.T.Context(), c.Delete(integration.Key("webhook"), integration.Entity, 1)))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.because, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			tt.change(r)
			j := r.deliver(1)
			r.wantDone("the message", r.handle(j), 0)
			r.wantRecord(j, delivery.Delivery{Head: delivery.Head{State: delivery.Held, HeldBecause: tt.because, Made: 1, Generation: 1}})
		})
	}
}

// TestRetrier_Generations ignores the messages of older generations, and sends a delivered delivery again after a restart.
func TestRetrier_Generations(t *testing.T) {
	t.Parallel()
	r := setup(t)
	first := r.deliver(1)
	d := r.record(first)
	d.Restart(r.Clock.Now())
	r.save(d)
	r.wantDone("the message of an earlier generation", r.handle(first), 0)
	r.wantDone("the message of this generation", r.handle(job(d)), 1)
	r.wantRecord(first, delivery.Delivery{Head: delivery.Head{State: delivery.Delivered, Made: 1, Generation: 2}})
	d = r.record(first)
	d.Restart(r.Clock.Now())
	r.save(d)
	r.wantDone("the message of a retry", r.handle(job(d)), 2)
	r.wantRecord(first, delivery.Delivery{Head: delivery.Head{State: delivery.Delivered, Made: 1, Generation: 3}})
	if got := len(r.record(first).Attempts); got != 3 {
		t.Errorf("the log has %d attempts, want 3", got)
	}
	gone := delivery.Job{Company: "a", Delivery: "gone#webhook", Generation: 1}
	r.wantDone("the message of a delivery that has expired", r.handle(gone), 2)
}

// TestRetrier_TwoMessages checks that only one of two concurrent messages for a delivery sends it.
func TestRetrier_TwoMessages(t *testing.T) {
	t.Parallel()
	r := setup(t)
	open := r.receiver.Gate()
	j := r.deliver(1)
	ended := make(chan time.Time)
	go func() { ended <- r.handle(j) }()
	r.receiver.Next()
	r.wantWait(r.handle(j), time.Second, 3*time.Second)
	open()
	r.wantDone("the first message", <-ended, 1)
	r.wantDone("the second message", r.handle(j), 1)
}

// slow delays the first read of a delivery until the test releases it.
type slow struct {
	store.Store
	begun        atomic.Bool
	read, answer chan struct{}
}

func (s *slow) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	item, err := s.Store.Get(ctx, p, key)
	if strings.HasPrefix(key, delivery.Prefix) && s.begun.CompareAndSwap(false, true) {
		close(s.read)
		<-s.answer
	}
	return item, err
}

// TestRetrier_TwoMessages_Overtaken checks that a message does not send a delivery that another message sent since the
// record was read.
func TestRetrier_TwoMessages_Overtaken(t *testing.T) {
	t.Parallel()
	r := setup(t)
	s := &slow{Store: r.faulty, read: make(chan struct{}), answer: make(chan struct{})}
	r.Retrier = retrier.New(retrier.Deps{Store: s, Courier: r.Courier(), Queue: r.Retries, Logger: r.Logger, Now: r.Clock.Now})
	j := r.deliver(1)
	ended := make(chan time.Time)
	go func() { ended <- r.handle(j) }()
	<-s.read
	r.handle(j)
	close(s.answer)
	r.wantDone("the overtaken message", <-ended, 1)
}

// TestRetrier_RequestedMeanwhile keeps a retry that is requested during an attempt.
func TestRetrier_RequestedMeanwhile(t *testing.T) {
	t.Parallel()
	r := setup(t)
	j := r.deliver(1)
	var requested delivery.Delivery
	r.receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
		requested = r.record(j)
		requested.Restart(r.Clock.Now())
		r.save(requested)
		w.WriteHeader(204)
	})
	r.wantDone("the superseded message", r.handle(j), 1)
	r.receiver.Answer(nil)
	r.wantDone("the requested message", r.handle(job(requested)), 2)
	r.wantRecord(j, delivery.Delivery{Head: delivery.Head{State: delivery.Delivered, Made: 1, Generation: 2}})
}

// TestRetrier_Breaker stops sending after five failures in a row, until a single probe succeeds.
func TestRetrier_Breaker(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.receiver.Status(500)
	turned := func(j delivery.Job) string {
		switch turned := r.record(j).Turned; {
		case turned == nil:
			return "nothing"
		case turned.Paused:
			return "the pause begins"
		}
		return "the pause is over"
	}
	for n := range 5 {
		j, want := r.deliver(n), "nothing"
		if n == 4 {
			want = "the pause begins"
		}
		r.handle(j)
		if got := turned(j); got != want {
			t.Errorf("the record of failure %d says %q, want %q", n+1, got, want)
		}
	}
	waiting := []delivery.Job{r.deliver(10), r.deliver(11)}
	for _, j := range waiting {
		before := r.record(j)
		r.wantWait(r.handle(j), 30*time.Second, time.Hour)
		r.wantSent(5)
		r.wantRecord(j, before)
	}
	r.Clock.Advance(40 * time.Second)
	r.handle(waiting[0]) // the probe
	r.wantWait(r.handle(waiting[1]), time.Minute, time.Hour)
	r.wantSent(6)
	r.receiver.Answer(nil)
	r.Clock.Advance(70 * time.Second)
	for n, j := range []delivery.Job{waiting[1], r.deliver(12)} {
		r.wantDone("a message after the breaker has closed", r.handle(j), 7+n)
		r.wantRecord(j, delivery.Delivery{Head: delivery.Head{State: delivery.Delivered, Made: 2, Generation: 1}})
	}
	if got := turned(waiting[1]); got != "the pause is over" {
		t.Errorf("the record of the probe that succeeded says %q, want that the pause is over", got)
	}
}

// TestRetrier_Throttled lets an endpoint's other deliveries wait as long as the refused one, whose attempt is then the first.
// It uses up none of the schedule, ten times.
func TestRetrier_Throttled(t *testing.T) {
	t.Parallel()
	const refused = 12
	for status, wait := range map[int]time.Duration{429: 2 * time.Minute, 503: time.Second, 502: 7 * time.Hour} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
				w.WriteHeader(status)
			})
			j := r.deliver(1)
			r.handle(j)
			r.wantWait(*r.record(j).NextAttemptAt, wait, wait)
			r.wantWait(r.handle(r.deliver(2)), wait+time.Second, wait+3*time.Second)
			r.wantSent(1)
			r.Clock.Advance(wait)
			r.receiver.Answer(nil)
			j.Generation++
			r.wantDone("the refused one", r.handle(j), 2)
			r.wantDone("another one", r.handle(r.deliver(3)), 3)
		})
	}
	r := setup(t)
	r.receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "600") // longer than the breaker opens for
		w.WriteHeader(429)
	})
	j := r.deliver(1)
	for n := range refused {
		r.handle(j)
		least, most := 10*time.Minute, 10*time.Minute
		if n >= 11 { // at 10 the schedule asks for five minutes
			least, most = 24*time.Minute, 3*time.Hour
		}
		d := r.record(j)
		r.wantWait(*d.NextAttemptAt, least, most)
		r.Clock.Advance(d.NextAttemptAt.Sub(r.Clock.Now()))
		j.Generation++
	}
}

// TestRetrier_Slots bounds the attempts of a hanging endpoint, while others continue. A message that finds no slot costs no
// read.
func TestRetrier_Slots(t *testing.T) {
	t.Parallel()
	r := setup(t)
	well := r.Receive()
	r.Subscribe("a", "webhook-well", well, "memory.*")
	open := r.receiver.Gate()
	const slots = 16
	ended := make(chan time.Time, slots)
	for n := range slots {
		j := r.deliver(n)
		go func() { ended <- r.handle(j) }()
		r.receiver.Next()
	}
	waits, before := r.deliver(99), r.faulty.Reads()
	r.wantWait(r.handle(waits), time.Second, 3*time.Second)
	if got := r.faulty.Reads() - before; got != 0 {
		t.Errorf("a message without a slot: %d reads, want none", got)
	}
	r.wantSent(slots)
	r.handle(r.deliver(100, func(d *delivery.Delivery) { d.Endpoint = "webhook-well" }))
	well.Next()
	open()
	for range slots {
		r.wantDone("a message of the hanging endpoint", <-ended, slots)
	}
}

func TestRetrier_FailingForDays(t *testing.T) {
	t.Parallel()
	enabled := endpoint{State: integration.Certified, Enabled: true}
	disabled := endpoint{State: integration.Sandbox, Disabled: integration.DisabledFailing, Cause: integration.SandboxedByFailing}
	tests := []struct {
		name   string
		since  time.Duration
		policy string
		want   endpoint
	}{
		{"five days", 5 * 24 * time.Hour, "", disabled},
		{"less", 5*24*time.Hour - time.Minute, "", enabled},
		{"never", 0, "", enabled},
		{"five days, but a policy forbids it", 5 * 24 * time.Hour, `forbid (principal, action == Action::"endpoint.disable", resource);`, enabled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.govern(tt.policy)
			r.receiver.Status(500)
			c := projection.Empty("a")
			since := projection.Integration{}
			if tt.since > 0 {
				since.FailingSince = r.Clock.Now().Add(-tt.since)
			}
			c.Integrations["webhook"] = since
			r.Put("a", projection.Key, projection.Entity, c)
			r.handle(r.deliver(1))
			r.wantEndpoint(tt.want)
		})
	}
}

// TestRetrier_FailingForDays_Pause reads once a minute since when an endpoint fails, however many attempts fail.
func TestRetrier_FailingForDays_Pause(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.receiver.Status(500)
	c := projection.Empty("a")
	c.Integrations["webhook"] = projection.Integration{FailingSince: r.Clock.Now().Add(time.Second - 5*24*time.Hour)}
	r.Put("a", projection.Key, projection.Entity, c)
	r.handle(r.deliver(1))
	for n, tt := range []struct {
		pause time.Duration
		want  endpoint
	}{
		{59 * time.Second, endpoint{State: integration.Certified, Enabled: true}},
		{time.Second, endpoint{State: integration.Sandbox, Disabled: integration.DisabledFailing, Cause: integration.SandboxedByFailing}},
	} {
		r.Clock.Advance(tt.pause)
		r.handle(r.deliver(2 + n))
		r.wantEndpoint(tt.want)
	}
}

// A later attempt may take 15 seconds, and an endpoint whose name does not resolve is tried again.
func TestRetrier_Unresolved(t *testing.T) {
	t.Parallel()
	r := setup(t)
	network, client := worktest.NewUnresolved()
	r.Retrier.Courier.Client = client
	j := r.deliver(1)
	r.handle(j)
	budget := <-network.Budgets
	if budget <= 5*time.Second {
		t.Errorf("the attempt may take %v, want more than the 5 s of a first one", budget)
	}
	if budget > 15*time.Second {
		t.Errorf("the attempt may take %v, want at most 15 s", budget)
	}
	if got := r.record(j).State; got != delivery.Scheduled {
		t.Errorf("state = %s, want %s", got, delivery.Scheduled)
	}
}

// TestRetrier_Kept keeps the log of a delivery for 30 days from its event, after every attempt of it.
func TestRetrier_Kept(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.receiver.Status(http.StatusInternalServerError)
	j := r.deliver(1)
	until := r.record(j).CreatedAt.Add(30 * 24 * time.Hour).Truncate(time.Second)
	attempts := 0
	for d := r.record(j); d.Open(); d = r.record(j) {
		r.Clock.Set(*d.NextAttemptAt)
		r.handle(job(d))
		item, err := r.Company("a").Get(t.Context(), delivery.Prefix+j.Delivery, nil)
		errtest.Must(t, err)
		if !item.Expires.Truncate(time.Second).Equal(until) {
			t.Errorf("after attempt %d kept until %v, want %v", attempts+2, item.Expires, until)
		}
		attempts++
	}
	if attempts != 9 {
		t.Errorf("%d later attempts, want 9", attempts)
	}
}
