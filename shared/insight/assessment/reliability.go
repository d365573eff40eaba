package assessment

import (
	"maps"
	"slices"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
)

// BreakerClosed names the state that ReliabilityOf gives every breaker. The context holds no breakers. So the caller looks
// up those of the failing endpoints; a breaker opens only after failures. BreakerUnknown stands for a breaker that was not read.
const (
	BreakerClosed  = "closed"
	BreakerUnknown = "unknown"
)

// BreakerStates lists the states of a breaker.
func BreakerStates() []string { return []string{BreakerClosed, "open", "half-open", BreakerUnknown} }

// ReliabilityOf computes how deliveries and syncs went.
func ReliabilityOf(p projection.Context, asOf time.Time) Reliability {
	v := look(p, asOf, "")
	return Reliability{
		ContextVersion: v.ContextVersion, AsOf: v.asOf, FormulaVersion: FormulaVersion, Objective: objective,
		Windows: v.windows(), Alerts: v.alerts(), Backlog: v.backlog(), Endpoints: v.endpoints(), Syncs: v.syncs(),
	}
}

// windows lists the windows, shortest first.
func (v view) windows() []ReliabilityWindow {
	var all []ReliabilityWindow
	for _, d := range []time.Duration{5 * time.Minute, time.Hour, 6 * time.Hour, day, 3 * day} {
		c := v.attempts(d)
		all = append(all, ReliabilityWindow{
			Seconds: int64(d / time.Second), Delivered: c.Delivered, Failed: c.Failed,
			SuccessRate: successRate(c), BurnRate: burnRateOf(c, leastForRatio),
		})
	}
	return all
}

// alerts lists the pairs of windows of the check of webhook deliveries, which fires for the same numbers.
func (v view) alerts() []BurnAlert {
	var all []BurnAlert
	for _, b := range burnings() {
		short, long := v.attempts(b.short.length), v.attempts(b.long.length)
		a := BurnAlert{
			ShortSeconds: int64(b.short.length / time.Second), LongSeconds: int64(b.long.length / time.Second), Threshold: b.threshold,
			ShortRate: burnRateOf(short, 1), LongRate: burnRateOf(long, leastForRatio), Status: Pass,
		}
		switch {
		case a.LongRate == nil:
			a.Status = Unknown
		case burnRate(short) >= b.threshold && burnRate(long) >= b.threshold:
			a.Status = b.status
		}
		all = append(all, a)
	}
	return all
}

func (v view) backlog() Backlog {
	b := Backlog{Waiting: v.Deliveries.Pending.Total()}
	if oldest, waits := v.Deliveries.Pending.Oldest(); waits {
		b.OldestAt, b.OldestSeconds = &oldest, int64(v.age(oldest.Add(bucketOfPending))/time.Second)
	}
	for _, e := range v.Deliveries.Endpoints {
		b.Held += e.Held.Total()
		b.Dead += e.Dead.Total()
		if oldest, dead := e.Dead.Oldest(); dead && (b.OldestDeadAt == nil || oldest.Before(*b.OldestDeadAt)) {
			b.OldestDeadAt = &oldest
		}
	}
	return b
}

// endpoints lists the webhook integrations, and deleted ones with deliveries.
func (v view) endpoints() []EndpointReliability {
	all := []EndpointReliability{}
	for _, provider := range sortedUnion(v.Integrations, v.Deliveries.Endpoints) {
		i, configured := v.Integrations[provider]
		if configured && !isEndpoint(i) {
			continue
		}
		e := v.Deliveries.Endpoints[provider]
		counts := e.Hourly.Since(v.asOf.Add(-day))
		one := EndpointReliability{
			Provider: provider, Enabled: i.Enabled, Breaker: BreakerClosed, Delivered: counts.Delivered, Failed: counts.Failed,
			SuccessRate: successRate(counts), Waiting: e.Pending, Held: e.Held.Total(), Dead: e.Dead.Total(),
			FailingSince: moment(i.FailingSince), DisabledReason: i.DisabledReason,
		}
		if configured {
			one.State = integration.Sandbox
			if i.IsCertified(v.asOf) {
				one.State = integration.Certified
			}
		}
		all = append(all, one)
	}
	return all
}

func (v view) syncs() []SyncReliability {
	all := []SyncReliability{}
	for _, provider := range sortedUnion(v.Syncs, v.Syncs) {
		s := v.Syncs[provider]
		all = append(all, SyncReliability{
			Provider: provider, State: s.State, LastSucceededAt: moment(s.LastSucceededAt), FailuresInRow: s.FailuresInRow,
			FailingSince: moment(s.FailingSince), Error: s.Error,
		})
	}
	return all
}

func successRate(c projection.Counts) *float64 {
	if c.Total() == 0 {
		return nil
	}
	rate := 1 - c.FailureRatio()
	return &rate
}

// burnRateOf returns the burn rate, or nil for fewer than least attempts.
func burnRateOf(c projection.Counts, least int64) *float64 {
	if c.Total() < least {
		return nil
	}
	rate := round(burnRate(c))
	return &rate
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// sortedUnion lists the keys of two maps in order, each once.
func sortedUnion[A, B any](a map[string]A, b map[string]B) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}
