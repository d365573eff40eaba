package operations_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/operations"
	"orgops/shared/base/id"
	tenant "orgops/shared/domain/company"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// TestUsage counts the delivery attempts of each day from the context, and the syncs and decisions of the last day from their records.
func TestUsage(t *testing.T) {
	t.Parallel()
	c := of(t, setup(t))
	c.endpoint("webhook")
	for n := range 3 {
		c.deliver("webhook", "memory.created", noon().AddDate(0, 0, -n), delivery.Delivered)
	}
	c.deliver("webhook", "memory.created", noon(), delivery.Dead)
	for n, age := range []time.Duration{time.Hour, 30 * time.Hour} {
		at := noon().Add(-age)
		r := syncrun.Run{ID: id.At(at, "run"), Provider: "feed", RequestedAt: at, Progress: syncrun.Progress{Pages: 5 + n}}
		errtest.Must(t, c.items().Commit(t.Context(), c.items().Create(syncrun.Key(r.ID), syncrun.Entity, r)))
		d := decision(policy.Permitted, "feed", "memory.upsert")
		d.ID, d.At = id.At(at, "decision"), at
		other := d
		other.ID = id.At(at, "other")
		errtest.Must(t, c.items().Commit(t.Context(), policy.CreatePage(c.items(), []policy.Decision{d, other})))
	}
	c.learn()
	var got operations.Usage
	c.Do("GET", path(c.Harness, "/usage"), c.A.Token, nil).Want(200).JSON(&got)
	want := operations.Usage{
		ContextVersion: got.ContextVersion, AsOf: noon(), Plan: tenant.DefaultPlan, Limits: &operations.PlanLimits{PerSecond: 5, Burst: 20, PerDay: 20_000},
		Days: []operations.UsageDay{
			{Date: "2126-02-28", Delivered: 1}, {Date: "2126-03-01", Delivered: 1}, {Date: "2126-03-02", Delivered: 1, Failed: 1},
		},
		LastDay:  operations.LastDay{Syncs: 1, SyncPages: 5, Decisions: 2},
		Holdings: operations.Holdings{Integrations: 1, MaxIntegrations: 50, Records: []operations.Held{}, MaxBytes: 1 << 30},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("usage differs (-want +got):\n%s", diff)
	}
}

// TestUsage_Size adds up the records that grow with use, and warns when nine tenths of what the plan includes are reached.
func TestUsage_Size(t *testing.T) {
	t.Parallel()
	c := of(t, setup(t))
	kept := func(bytes int64) operations.Holdings {
		p, version, err := projection.Load(t.Context(), c.items())
		errtest.Must(t, err)
		p.Company.Plan, p.Memory.Total, p.Memory.Bytes, p.Memory.Since = "free", 5, bytes, noon().AddDate(0, 0, -100)
		p.Sizes = map[string][]projection.SizeStep{
			policy.Entity: {
				{From: noon().AddDate(0, 0, -200), Items: 1, Bytes: 10}, {From: noon().AddDate(0, 0, -1), Items: 2, Bytes: 20},
			},
			delivery.Entity: {{From: noon().AddDate(0, 0, -5), Items: 3, Bytes: 300}},
		}
		errtest.Must(t, c.items().Commit(t.Context(), projection.Save(c.items(), version, p)))
		var got operations.Usage
		c.Do("GET", path(c.Harness, "/usage"), c.A.Token, nil).Want(200).JSON(&got)
		return got.Holdings
	}
	want := operations.Holdings{
		MaxIntegrations: 50, Memories: 5, Records: []operations.Held{
			{Kind: "decision", Items: 3, Bytes: 30, OldestAt: noon().AddDate(0, 0, -180), KeptDays: 180},
			{Kind: "delivery", Items: 3, Bytes: 300, OldestAt: noon().AddDate(0, 0, -5), KeptDays: 30},
			{Kind: "memory", Items: 5, Bytes: 100 << 20, OldestAt: noon().AddDate(0, 0, -100)},
		},
		Items: 11, Bytes: 100<<20 + 330, MaxBytes: 1 << 30, OldestAt: noon().AddDate(0, 0, -180),
	}
	if diff := cmp.Diff(want, kept(100<<20)); diff != "" {
		t.Errorf("holdings (-want +got):\n%s", diff)
	}
	if got, want := kept(1000<<20).Warning, "the records have 97 % of the bytes that the plan includes; most of them are in memory; remove what can be removed, or ask for another plan"; got != want {
		t.Errorf("warning %q, want %q", got, want)
	}
}

// TestUsage_Egress tells the addresses from which the service sends, if they are fixed.
func TestUsage_Egress(t *testing.T) {
	t.Parallel()
	h := webtest.New(t)
	operations.Register(h.API(), operations.Deps{
		Store: h.Store, Reader: assessment.NewReader(noon), Now: noon, SendsFrom: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/32")},
	})
	var got struct{ SendsFrom []string }
	h.Do("GET", path(h, "/usage"), h.A.Token, nil).Want(200).JSON(&got)
	if diff := cmp.Diff([]string{"192.0.2.10/32"}, got.SendsFrom); diff != "" {
		t.Errorf("sends from (-want +got):\n%s", diff)
	}
}
