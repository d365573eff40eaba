package projection

import (
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
)

// former names the entry that adds up the providers dropped from Memory.Providers. No provider has this name.
const former = "former"

// settle records a change's time. It drops expired counts, and beyond maxProviders the providers without an integration. It
// runs after every change, so the context does not depend on how changes are split into batches.
func (f *folding) settle(now time.Time) {
	if day := now.Truncate(tallyDay); !day.Equal(f.UpdatedAt.Truncate(tallyDay)) {
		f.expire(day.Add(-delivery.Kept))
	}
	f.UpdatedAt = now
	bound(f.Integrations, f.Deliveries.Endpoints, Endpoint.changedAt, nil)
	bound(f.Integrations, f.Syncs, Sync.changedAt, nil)
	bound(f.Integrations, f.Memory.Providers, ProviderMemory.changedAt, f.Memory.merge)
}

// expire drops the counts before a time.
func (f *folding) expire(before time.Time) {
	f.Deliveries.Pending.forget(before)
	for name, e := range f.Deliveries.Endpoints {
		e.Held.forget(before)
		e.Dead.forget(before)
		f.keep(name, e)
	}
}

// keep stores an endpoint's counts, and drops an endpoint that is not configured and has no backlog.
func (f *folding) keep(name string, e Endpoint) {
	_, configured := f.Integrations[name]
	if !configured && e.Pending <= 0 && len(e.Held) == 0 && len(e.Dead) == 0 {
		delete(f.Deliveries.Endpoints, name)
		return
	}
	f.Deliveries.Endpoints[name] = e
}

// bound keeps a map by provider at maxProviders entries. It drops the providers without an integration that changed least
// recently, and calls forgotten (unless nil) with each.
func bound[V any](configured map[string]Integration, all map[string]V, changedAt func(V) time.Time, forgotten func(V)) {
	for len(all) > maxProviders {
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
	sum.LastChangedAt = later(sum.LastChangedAt, p.LastChangedAt)
	sum.LastSyncedAt = later(sum.LastSyncedAt, p.LastSyncedAt)
	m.Providers[former] = sum
}

// count adds a memory of a provider (n = 1) or subtracts one (-1). A dropped provider that comes back counts from 0 again.
// If its count is 0, the entry former counts a removed memory, so count subtracts it there.
func (m *Memory) count(provider string, n int64, now time.Time) {
	p, known := m.Providers[provider]
	p.LastChangedAt = now
	if old := m.Providers[former]; n < 0 && p.Count == 0 && old.Count > 0 {
		old.Count, old.LastChangedAt = old.Count+n, now
		m.Providers[former] = old
	} else {
		p.Count, known = max(p.Count+n, 0), true
	}
	if known {
		m.Providers[provider] = p
	}
	m.Total, m.LastChangedAt = m.Total+n, now
}

func (m ProviderMemory) changedAt() time.Time { return later(m.LastChangedAt, m.LastSyncedAt) }

// changedAt returns the time at which the newest run was requested. The run's id holds it.
func (s Sync) changedAt() time.Time {
	t, _ := id.Time(s.Run)
	return t
}

// changedAt returns the newest time that the endpoint has counts for. The count of waiting deliveries has no time.
func (e Endpoint) changedAt() time.Time {
	t := e.Hourly.Start.Add(time.Duration(int64(len(e.Hourly.Delivered))*e.Hourly.Seconds) * time.Second)
	for _, tally := range []Tally{e.Held, e.Dead} {
		if n := len(tally); n > 0 {
			t = later(t, tally[n-1].From)
		}
	}
	return t
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
