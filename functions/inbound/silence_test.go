package inbound_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSilence shows a repository that was mistyped: everything is accepted, nothing takes effect, and health is not green.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	type reason struct {
		Reason   string
		Count24h int64
	}
	type shown struct {
		Health struct {
			Status  string
			Inbound struct {
				Accepted24h, WithoutEffect24h, Refused24h int64
				WithoutEffect                             []reason
			}
		}
	}
	want := func(status string, accepted, none int64, reasons ...reason) {
		t.Helper()
		s.clock.Advance(time.Minute) // so that what waits is written with the next arrival
		s.redeliver("ping", `{"zen":"x"}`, 202)
		var got, want shown
		s.integrations("GET", "/github", nil).Want(200).JSON(&got)
		want.Health.Status = status
		want.Health.Inbound.Accepted24h, want.Health.Inbound.WithoutEffect24h, want.Health.Inbound.WithoutEffect = accepted, none, reasons
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("health differs (-want +got):\n%s", diff)
		}
	}
	for n := range 2 {
		s.redeliver("issues", issueIn(others, fmt.Sprint(n)), 202)
	}
	another := reason{"it is about another repository than the configured one", 2}
	want("pass", 2, 2, another)
	s.redeliver("watch", `{"action":"started",`+oldName+`}`, 202)
	want("warn", 3, 3, another, reason{"no rule of the mapping matches", 1})
}
