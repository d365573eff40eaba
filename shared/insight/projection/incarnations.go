package projection

import (
	"time"

	"orgops/shared/base/id"
)

// current reports whether a record belongs to the integration of a provider that was created last, as far as the feed has shown. The
// facts about a provider are those of this integration. With its first record, current drops the facts of the one before. Its memories
// stay, and are counted under former; its goals stay, and are counted in the total.
func (f *folding) current(provider, incarnation string) bool {
	if last := f.Incarnations[provider]; incarnation <= last { // UUIDv7, so the texts sort by time
		return incarnation == last
	}
	f.Incarnations[provider] = incarnation
	f.forgetGoals(provider)
	delete(f.Syncs, provider)
	if r, ok := f.Results[provider]; ok {
		f.Results[provider] = Result{Taken: r.Taken}
	}
	if m, ok := f.Memory.Providers[provider]; ok {
		delete(f.Memory.Providers, provider)
		m.LastSyncedAt = time.Time{} // a fact of the former one's runs
		f.Memory.merge(m)
	}
	if e, ok := f.Deliveries.Endpoints[provider]; ok {
		former := newEndpoint()
		former.Former = e.Former
		for _, b := range e.Dead {
			former.Former.add(b.From, b.Count)
		}
		f.keep(provider, former)
	}
	return true
}

func newEndpoint() Endpoint {
	return Endpoint{Hourly: newWindow(time.Hour), Held: Tally{}, Dead: Tally{}}
}

// createdAt returns the time in an incarnation.
func createdAt(incarnation string) time.Time {
	t, _ := id.Time(incarnation)
	return t
}

// Deleted reports whether an incarnation of a provider's integration was deleted, as far as the context follows the changes.
func (p Context) Deleted(provider, incarnation string) bool {
	if last := p.Incarnations[provider]; incarnation != last {
		return incarnation < last
	}
	_, exists := p.Integrations[provider]
	return !exists
}
