package operations

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/identity/usagekey"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// Usage reports what a company uses. The service writes nothing to count it: the numbers come from the company's context and from
// the records of the last day. The hosted service counts requests at its gateway, which refuses those beyond the limits.
type Usage struct {
	ContextVersion int64       `json:"contextVersion" doc:"version of the company context behind the result; records of which the context shows nothing but the size do not raise it" example:"1284"`
	AsOf           time.Time   `json:"asOf" doc:"the minute for which the result holds"`
	Plan           string      `json:"plan" doc:"the company's plan" example:"free"`
	Limits         *PlanLimits `json:"limits,omitempty" doc:"what the plan allows on the hosted service; a local process has no such limits. Absent for a plan without limits"`
	Days           []UsageDay  `json:"days" nullable:"false" doc:"delivery attempts of the last 30 days, oldest first, in UTC; a day without attempts before the first one is left out"`
	LastDay        LastDay     `json:"lastDay" doc:"what the records of the last 24 hours add up to"`
	SendsFrom      []string    `json:"sendsFrom,omitempty" doc:"networks from which webhooks, syncs, certifications and sign-ins come, for the firewalls of their receivers; absent if the addresses are not fixed" example:"192.0.2.10/32"`
	Holdings       Holdings    `json:"holdings" doc:"what the company has now"`
}

// PlanLimits holds a plan's limits for one company.
type PlanLimits struct {
	PerSecond int `json:"requestsPerSecond" doc:"requests a second, in the long run" format:"int32"`
	Burst     int `json:"burst" doc:"requests at once" format:"int32"`
	PerDay    int `json:"requestsPerDay" doc:"requests a day" format:"int32"`
}

// UsageDay counts one day's delivery attempts.
type UsageDay struct {
	Date      string `json:"date" format:"date" doc:"the day, in UTC" example:"2026-03-01"`
	Delivered int64  `json:"delivered" doc:"attempts that were answered 2xx"`
	Failed    int64  `json:"failed" doc:"all other attempts"`
}

// LastDay adds up the records of the last 24 hours.
type LastDay struct {
	Syncs     int  `json:"syncs" doc:"sync runs that were requested" format:"int32"`
	SyncPages int  `json:"syncPages" doc:"pages that they have fetched" format:"int32"`
	Decisions int  `json:"decisions" doc:"the policy engine's decisions" format:"int32"`
	AtLeast   bool `json:"atLeast,omitempty" doc:"there are more records than are read for one answer, so the numbers are lower bounds"`
}

// Holdings counts what a company has.
type Holdings struct {
	Integrations    int       `json:"integrations" doc:"configured integrations" format:"int32"`
	MaxIntegrations int       `json:"maxIntegrations" doc:"how many there may be" format:"int32"`
	Memories        int64     `json:"memories" doc:"memories, those of deleted integrations included"`
	Goals           int       `json:"goals" doc:"goals, open and closed, those of deleted integrations included" format:"int32"`
	Waiting         int       `json:"waiting" doc:"deliveries that wait for an attempt" format:"int32"`
	Records         []Held    `json:"records" nullable:"false" doc:"the kinds of records that grow with use, in the order of their names; a kind without a record is left out"`
	Items           int64     `json:"items" doc:"all these records"`
	Bytes           int64     `json:"bytes" doc:"their bytes, as they are stored"`
	MaxBytes        int64     `json:"maxBytes,omitempty" doc:"bytes that the plan includes; absent for a plan without limits"`
	OldestAt        time.Time `json:"oldestAt,omitzero" doc:"the earliest oldestAt of a kind"`
	Warning         string    `json:"warning,omitempty" doc:"what to do about too many bytes; absent below nine tenths of the limit" example:"the records have 95 % of the bytes that the plan includes; most of them are in memory; remove what can be removed, or ask for another plan"`
}

// Held tells the size of one kind of records. A kind that expires is counted by the time at which its records were begun, in six steps:
// so it counts at most a sixth of the time longer than its records are kept. It leaves out records from before release 0.2.0, which counted
// none, and deliveries that are kept longer because they were attempted late.
type Held struct {
	Kind     string    `json:"kind" doc:"kind of records, as the export names it" example:"delivery"`
	Items    int64     `json:"items" doc:"how many there are; of a kind that expires at most a sixth more than that, without records from before release 0.2.0 and deliveries beyond keptDays"`
	Bytes    int64     `json:"bytes" doc:"their bytes, as they are stored"`
	OldestAt time.Time `json:"oldestAt" doc:"no record was begun before; of memories when the first was stored, which may be removed since"`
	KeptDays int       `json:"keptDays,omitempty" doc:"for how many days a record is kept, a delivery also for a week after its last attempt; absent: until it is removed" format:"int32"`
}

type usageOutput struct{ Body Usage }

func (d Deps) getUsage(ctx context.Context, _ *struct{}) (*usageOutput, error) {
	c := web.Tenant(ctx)
	facts, err := d.Reader.Read(ctx, c)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	p := facts.Context
	out := Usage{
		ContextVersion: p.ContextVersion, AsOf: facts.AsOf, Plan: p.Company.Plan, Limits: limitsOf(p.Company.Plan),
		Days: daysOf(p.Deliveries.Daily), Holdings: Holdings{
			Integrations: len(p.Integrations), MaxIntegrations: integration.Most(p.Company.Plan), Memories: p.Memory.Total,
			Goals: p.Goals.Total, Waiting: p.Deliveries.Pending.Total(),
		},
	}
	out.Holdings.measure(p, facts.AsOf)
	for _, network := range d.SendsFrom {
		out.SendsFrom = append(out.SendsFrom, network.String())
	}
	out.LastDay, err = lastDay(ctx, c, facts.AsOf)
	return &usageOutput{out}, err
}

// measure adds up the records that grow with use, and compares their bytes with those that the plan includes. Nothing refuses more.
func (h *Holdings) measure(p projection.Context, asOf time.Time) {
	h.Records = []Held{}
	for _, kind := range slices.Sorted(slices.Values(append(projection.Grown(), memory.Entity))) {
		is := Held{Kind: kind, Items: p.Memory.Total, Bytes: p.Memory.Bytes, OldestAt: p.Memory.Since}
		if kind != memory.Entity {
			is = held(kind, p.Sizes[kind], asOf)
		}
		if is.Items == 0 {
			continue
		}
		h.Records, h.Items, h.Bytes = append(h.Records, is), h.Items+is.Items, h.Bytes+is.Bytes
		if h.OldestAt.IsZero() || is.OldestAt.Before(h.OldestAt) {
			h.OldestAt = is.OldestAt
		}
	}
	h.MaxBytes = usagekey.Tiers()[p.Company.Plan].Bytes
	if h.MaxBytes == 0 {
		return
	}
	if share := h.Bytes * 100 / h.MaxBytes; share >= 90 {
		largest := slices.MaxFunc(h.Records, func(a, b Held) int { return cmp.Compare(a.Bytes, b.Bytes) })
		h.Warning = fmt.Sprintf("the records have %d %% of the bytes that the plan includes; most of them are in %s; remove what can be removed, or ask for another plan", share, largest.Kind)
	}
}

// held adds up the steps of a kind of records that expires.
func held(kind string, steps []projection.SizeStep, asOf time.Time) Held {
	kept := projection.KeptFor(kind)
	h := Held{Kind: kind, KeptDays: int(kept / (24 * time.Hour))}
	for _, s := range steps {
		h.Items, h.Bytes = h.Items+s.Items, h.Bytes+s.Bytes
	}
	if len(steps) > 0 {
		h.OldestAt = steps[0].From
	}
	if expired := asOf.Add(-kept); h.OldestAt.Before(expired) {
		h.OldestAt = expired
	}
	return h
}

// limitsOf returns what a plan allows, or nil for a plan without limits.
func limitsOf(plan string) *PlanLimits {
	tier, ok := usagekey.Tiers()[plan]
	if !ok {
		return nil
	}
	return &PlanLimits{PerSecond: tier.Rate, Burst: tier.Burst, PerDay: tier.Day}
}

func daysOf(w projection.Window) []UsageDay {
	days := []UsageDay{}
	for n := range w.Delivered {
		at := w.Start.Add(time.Duration(n) * time.Duration(w.Seconds) * time.Second)
		days = append(days, UsageDay{Date: at.UTC().Format(time.DateOnly), Delivered: w.Delivered[n], Failed: w.Failed[n]})
	}
	return days
}

// lastDay reads the records of the last 24 hours, at most a page of each kind.
func lastDay(ctx context.Context, c store.Company, asOf time.Time) (LastDay, error) {
	since := id.First(asOf.Add(-24 * time.Hour))
	var out LastDay
	runs, err := c.Query(ctx, store.Query{Prefix: syncrun.Prefix, From: syncrun.Prefix + since})
	if err != nil {
		return out, store.Fault(err, "")
	}
	for _, item := range runs.Items {
		var r syncrun.Run
		if err := item.Decode(&r); err != nil {
			return out, err
		}
		out.Syncs, out.SyncPages = out.Syncs+1, out.SyncPages+r.Progress.Pages
	}
	decisions, err := c.Query(ctx, store.Query{Prefix: policy.Prefix, From: policy.Prefix + since})
	if err != nil {
		return out, store.Fault(err, "")
	}
	for _, item := range decisions.Items {
		var d policy.Decisions
		if err := item.Decode(&d); err != nil {
			return out, err
		}
		out.Decisions += 1 + len(d.Others)
	}
	out.AtLeast = runs.Next != "" || decisions.Next != ""
	return out, nil
}
