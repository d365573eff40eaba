package projection

import (
	"time"

	"orgops/shared/base/id"
	"orgops/shared/base/wait"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
)

// former names the entry that adds up the providers dropped from Memory.Providers. No provider has this name.
const former = "former"

// reach records that a change was committed at a time. If the time is the latest so far, reach drops the counts that have
// expired by then. A rule calls it before it counts anything. So what the context counts depends on the latest time, and
// neither on the order of the changes nor on how they are split into batches.
func (f *folding) reach(at time.Time) {
	was, now := f.UpdatedAt, at.UTC()
	if !now.After(was) {
		return
	}
	f.UpdatedAt = now
	if !now.Before(f.Rebuilding.Until) {
		f.Rebuilding = Rebuilding{}
	}
	f.Deliveries.Recent.trim(recentBuckets, now)
	if now.Truncate(time.Hour).After(was) {
		f.expire(now)
	}
}

// expire drops the counts of expired deliveries, and of attempts and approvals long before now.
func (f *folding) expire(now time.Time) {
	d := &f.Deliveries
	d.Hourly.trim(hourlyBuckets, now)
	d.Daily.trim(dailyBuckets, now)
	d.Pending.forget(oldestStep(now, tallyDay))
	d.Pending.merge(func(from time.Time) time.Time { return pendingStart(from, now) })
	for name, r := range f.Results {
		r.Taken = r.Taken.Trim(now)
		f.Results[name] = r
	}
	f.forgetSizes(now)
	f.Governance.Waiting.forget(oldestHour(now))
	f.Governance.Unanswered.forget(oldestDay(now))
	for name, e := range d.Endpoints {
		e.Hourly.trim(endpointBuckets, now)
		for _, t := range []*Tally{&e.Held, &e.Dead, &e.Former} {
			t.forget(oldestStep(now, tallyDays))
			t.merge(func(from time.Time) time.Time { return backlogStart(from, now) })
		}
		f.keep(name, e)
	}
}

// oldestStep returns the start of the oldest step of a length whose deliveries have not all expired.
func oldestStep(now time.Time, length time.Duration) time.Time {
	return now.Add(-delivery.Kept).Truncate(length)
}

// bound drops, beyond maxFormer, the providers without an integration. It runs after every change, so the context does
// not depend on how changes are split into batches.
func (f *folding) bound() {
	bound(f.Integrations, f.Deliveries.Endpoints, Endpoint.changedAt, nil)
	bound(f.Integrations, f.Syncs, Sync.changedAt, nil)
	bound(f.Integrations, f.Results, Result.changedAt, nil)
	bound(f.Integrations, f.Incarnations, createdAt, nil)
	bound(f.Integrations, f.Goals.Providers, GoalCounts.changedAt, nil)
	bound(f.Integrations, f.Memory.Providers, ProviderMemory.changedAt, f.Memory.merge)
}

// keep stores an endpoint's counts, and drops an endpoint that counts nothing.
func (f *folding) keep(name string, e Endpoint) {
	if e.Pending <= 0 && len(e.Held)+len(e.Dead)+len(e.Former)+len(e.Hourly.Delivered) == 0 {
		delete(f.Deliveries.Endpoints, name)
		return
	}
	f.Deliveries.Endpoints[name] = e
}

// bound keeps a map by provider at maxFormer entries more than there are, or may be, integrations. It drops the providers without an integration that changed least
// recently, and calls forgotten (unless nil) with each.
func bound[V any](configured map[string]Integration, all map[string]V, changedAt func(V) time.Time, forgotten func(V)) {
	for len(all) > max(integration.MaxPerCompany, len(configured))+maxFormer {
		oldest, found := "", false
		for name, v := range all {
			if _, ok := configured[name]; ok || name == former {
				continue
			}
			order := changedAt(v).Compare(changedAt(all[oldest]))
			if !found || order < 0 || order == 0 && name < oldest {
				oldest, found = name, true
			}
		}
		if !found {
			return
		}
		v := all[oldest]
		delete(all, oldest)
		if forgotten != nil {
			forgotten(v)
		}
	}
}

// merge adds a dropped provider to the entry former, so that the entries still add up to Total.
func (m *Memory) merge(p ProviderMemory) {
	sum := m.Providers[former]
	sum.Count += p.Count
	sum.LastChangedAt = wait.Later(sum.LastChangedAt, p.LastChangedAt)
	sum.LastSyncedAt = wait.Later(sum.LastSyncedAt, p.LastSyncedAt)
	m.Providers[former] = sum
}

// count adds a memory of a provider (n = 1) or subtracts one (-1). A dropped provider that comes back counts from 0 again.
// If its count is 0, the entry former counts a removed memory, so count subtracts it there.
func (m *Memory) count(provider string, n int64, now time.Time) {
	p, known := m.Providers[provider]
	p.LastChangedAt = wait.Later(p.LastChangedAt, now)
	if old := m.Providers[former]; n < 0 && p.Count == 0 && old.Count > 0 {
		old.Count, old.LastChangedAt = old.Count+n, wait.Later(old.LastChangedAt, now)
		m.Providers[former] = old
	} else {
		p.Count, known = max(p.Count+n, 0), true
	}
	if known {
		m.Providers[provider] = p
	}
	m.Total, m.LastChangedAt = m.Total+n, wait.Later(m.LastChangedAt, now)
}

func (m ProviderMemory) changedAt() time.Time { return wait.Later(m.LastChangedAt, m.LastSyncedAt) }

// changedAt returns the same time for all. So bound drops the first by name; none of them counts.
func (GoalCounts) changedAt() time.Time { return time.Time{} }

// changedAt returns the time at which the newest run was requested. The run's id holds it.
func (s Sync) changedAt() time.Time {
	t, _ := id.Time(s.Run)
	return t
}

// changedAt returns the newest time that the endpoint has counts for. The count of waiting deliveries has no time.
func (e Endpoint) changedAt() time.Time {
	t := e.Hourly.Start.Add(time.Duration(int64(len(e.Hourly.Delivered))*e.Hourly.Seconds) * time.Second)
	for _, tally := range []Tally{e.Held, e.Dead, e.Former} {
		if n := len(tally); n > 0 {
			t = wait.Later(t, tally[n-1].From)
		}
	}
	return t
}
