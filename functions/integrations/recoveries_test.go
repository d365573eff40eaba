package integrations_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/integrations"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/recovery"
	"orgops/shared/testkit/errtest"
)

// TestRecovery counts the deliveries of the window that this recovery sent again last, to this endpoint alone.
func TestRecovery(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/")
	now := s.clock.Now()
	r := recovery.Recovery{
		ID: id.New(), Provider: "webhook", Since: now.Add(-time.Hour), Until: now, State: recovery.Finished, Recovered: 7,
		RequestedAt: now, FinishedAt: &now,
	}
	stored := recovery.Stored{Recovery: r, Incarnation: s.incarnation("webhook")}
	errtest.Must(t, s.company().Commit(t.Context(), s.company().Create(recovery.Key(r.ID), recovery.Entity, stored)))
	n := 0
	again := func(endpoint string, at time.Time, recovery string, state delivery.State) {
		n++
		d := event(at.Add(time.Duration(n)*time.Second), "memory.created")
		d.Recovery = recovery
		d.End(state)
		s.deliver(endpoint, d)
	}
	within := now.Add(-30 * time.Minute)
	for _, state := range []delivery.State{
		delivery.Delivered, delivery.Delivered, delivery.Failed, delivery.Dead, delivery.Held, delivery.Scheduled,
	} {
		again("webhook", within, r.ID, state)
	}
	again("webhook", within, "", delivery.Delivered)           // it needed no recovery
	again("webhook", within, id.New(), delivery.Scheduled)     // a later recovery took it over
	again("webhook-b", within, r.ID, delivery.Delivered)       // another endpoint
	again("webhook", now.Add(-2*time.Hour), r.ID, "delivered") // before the window

	path := "/webhook/recoveries/" + r.ID
	var got integrations.RecoveryProgress
	first := s.do("GET", path, nil).Want(200).JSON(&got)
	want := integrations.RecoveryProgress{Recovery: r, Counts: integrations.RecoveryCounts{
		Matched: 8, Requested: 7, Delivered: 2, Failed: 2, Held: 1, Waiting: 1, Complete: true,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("recovery differs (-want +got):\n%s", diff)
	}
	s.do("GET", path, nil, "If-None-Match", first.Header.Get("ETag")).Want(http.StatusNotModified)
	again("webhook", within, r.ID, delivery.Delivered)
	s.do("GET", path, nil, "If-None-Match", first.Header.Get("ETag")).Want(200)

	for _, rest := range []string{"/webhook-b/recoveries/" + r.ID, "/webhook/recoveries/" + id.New(), "/webhook/recoveries/a%23b", "/unknown/recoveries/" + r.ID} {
		s.do("GET", rest, nil).WantProblem(404, "not-found")
	}
	s.Do("GET", "/companies/"+s.B.ID+"/integrations"+path, s.B.Token, nil).WantProblem(404, "not-found")
}
