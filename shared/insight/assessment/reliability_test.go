package assessment_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/domain/delivery"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
)

func TestReliabilityOf_Windows(t *testing.T) {
	t.Parallel()
	c := newCompany().webhook(nil).attempts(noon().Add(-2*day), 50, 0).attempts(noon().Add(-4*time.Hour), 25, 25).attempts(noon().Add(-time.Minute), 3, 1)
	got := assessment.ReliabilityOf(c.Context, noon())
	want := []assessment.ReliabilityWindow{
		{Seconds: 300, Delivered: 3, Failed: 1, SuccessRate: new(0.75)},
		{Seconds: 3600, Delivered: 3, Failed: 1, SuccessRate: new(0.75)},
		{Seconds: 21600, Delivered: 28, Failed: 26, SuccessRate: new(1 - 26.0/54), BurnRate: new(48.1)},
		{Seconds: 86400, Delivered: 28, Failed: 26, SuccessRate: new(1 - 26.0/54), BurnRate: new(48.1)},
		{Seconds: 259200, Delivered: 78, Failed: 26, SuccessRate: new(0.75), BurnRate: new(25.0)},
	}
	if diff := cmp.Diff(want, got.Windows, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("windows differ (-want +got):\n%s", diff)
	}
	var statuses []assessment.Status
	for _, a := range got.Alerts {
		statuses = append(statuses, a.Status)
	}
	// The short window of half an hour has four attempts, of which one failed: 25 times the objective.
	if diff := cmp.Diff([]assessment.Status{assessment.Unknown, assessment.Fail, assessment.Warn}, statuses); diff != "" {
		t.Errorf("statuses of the alerts differ (-want +got):\n%s", diff)
	}
}

func TestReliabilityOf_Backlog(t *testing.T) {
	t.Parallel()
	waiting, dead := noon().Add(-time.Hour), noon().Add(-30*time.Hour)
	c := newCompany().webhook(nil).deliver(delivery.Scheduled, waiting, 2).deliver(delivery.Dead, dead, 3).deliver(delivery.Held, dead, 4)
	got := assessment.ReliabilityOf(c.Context, noon()).Backlog
	want := assessment.Backlog{
		Waiting: 2, OldestAt: &waiting, OldestSeconds: 3300, Held: 4, Dead: 3, OldestDeadAt: new(dead.Truncate(day)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("backlog differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(assessment.Backlog{}, assessment.ReliabilityOf(projection.Empty("acme"), noon()).Backlog); diff != "" {
		t.Errorf("backlog of a new company differs (-want +got):\n%s", diff)
	}
}

// TestReliabilityOf_Endpoints lists webhooks alone, and a deleted one while it has deliveries.
func TestReliabilityOf_Endpoints(t *testing.T) {
	t.Parallel()
	since := noon().Add(-time.Hour)
	c := newCompany().feed(nil).webhook(func(i *projection.Integration) { i.FailingSince = since }).attempts(noon().Add(-time.Minute), 1, 1)
	c.Deliveries.Endpoints["webhook-gone"] = projection.Endpoint{Dead: projection.Tally{{From: noon().Truncate(day), Count: 5}}}
	got := assessment.ReliabilityOf(c.Context, noon()).Endpoints
	want := []assessment.EndpointReliability{
		{Provider: "webhook", State: "certified", Enabled: true, Breaker: "closed", Delivered: 1, Failed: 1, SuccessRate: new(0.5)},
		{Provider: "webhook-gone", Breaker: "closed", Dead: 5},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(assessment.EndpointReliability{}, "FailingSince")); diff != "" {
		t.Errorf("endpoints differ (-want +got):\n%s", diff)
	}
}

func TestReliabilityOf_Syncs(t *testing.T) {
	t.Parallel()
	c := newCompany().feed(nil)
	ended := noon().Add(-time.Hour)
	c.Syncs["feed"] = projection.Sync{State: "failed", LastSucceededAt: ended, FailuresInRow: 2, FailingSince: noon(), Error: "503"}
	want := []assessment.SyncReliability{{
		Provider: "feed", State: "failed", LastSucceededAt: &ended, FailuresInRow: 2, FailingSince: new(noon()), Error: "503",
	}}
	if diff := cmp.Diff(want, assessment.ReliabilityOf(c.Context, noon()).Syncs); diff != "" {
		t.Errorf("syncs differ (-want +got):\n%s", diff)
	}
}
