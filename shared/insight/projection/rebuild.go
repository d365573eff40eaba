package projection

import (
	"maps"
	"slices"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
)

// Rebuild returns the context that follows from a company's records, in any order. It is old without the mistakes of lost or
// repeated changes: it has old's position and the next ContextVersion.
//
// Records do not tell everything. What Rebuild takes over from old is the latest of several times, so a lost change makes it
// too early and never too late: when a memory was last removed, when an integration was last enabled or reconfigured or
// entered the sandbox, the newest delivery received, outcomes and delays whose deliveries or runs have expired, and, if the status is the same, since when a goal has
// it. Without old such a time is that of the record. Attempts count only if the log of their delivery has them, which keeps
// 25. Sizes are taken over, and a mistake in them ends when the records have expired. A company that has had more than 57 providers
// gets its own entries again for those in the entry former.
//
// Rebuild leaves out a record that it cannot decode, and returns it as a change with the reason. The context is valid all the same.
func Rebuild(old Context, records []store.Item) (next Context, failed Failures) {
	f := folding{Context: lasting(old), owned: true}
	for _, r := range records {
		apply := f.rule(r.Entity)
		if apply == nil || r.Entity == MarkEntity {
			continue
		}
		c := store.Change{Company: old.CompanyID, Key: r.Key, Entity: r.Entity, At: r.At, New: &store.Image{Version: r.Version, Body: r.Body}}
		if err := apply(c); err != nil {
			failed = append(failed, Failure{Change: c, Err: err})
		}
	}
	f.takeOver(old)
	f.bound()
	return f.Context, failed
}

// lasting returns the facts that stay true when changes were lost: positions and latest times, without counts.
func lasting(old Context) Context {
	p := Empty(old.CompanyID)
	p.ContextVersion, p.Applied, p.UpdatedAt = old.ContextVersion+1, old.Applied, old.UpdatedAt
	p.Shards, p.Gathers, p.Rebuilt = old.Shards, old.Gathers, old.Rebuilt
	p.Sizes = old.Sizes                         // the records of most of these kinds are not read
	maps.Copy(p.Incarnations, old.Incarnations) // also of an integration that was deleted, and of which no record is left
	p.Memory.LastChangedAt, p.Memory.Since = old.Memory.LastChangedAt, old.Memory.Since
	for name, m := range old.Memory.Providers {
		m.Count = 0
		p.Memory.Providers[name] = m
	}
	for name, w := range old.Goals.Work { // when an item was last removed follows from no record
		if p.Goals.Work == nil {
			p.Goals.Work = map[string]goal.Work{}
		}
		p.Goals.Work[name] = goal.Work{ChangedAt: w.ChangedAt}
	}
	for name, s := range old.Syncs {
		s.Failures, s.Successes, s.Outcomes = nil, nil, nil
		s.count()
		p.Syncs[name] = s
	}
	for name, r := range old.Results {
		r.Taken = r.Taken[:min(len(r.Taken), 1)] // the time of the newest, without counts
		r.Idle = Idle{}
		p.Results[name] = r
	}
	return p
}

// takeOver takes over the times of integrations, goals and policies that their records do not hold.
func (f *folding) takeOver(old Context) {
	for name, i := range f.Integrations {
		was, known := old.Integrations[name]
		if !known || !was.CreatedAt.Equal(i.CreatedAt) {
			continue
		}
		i.ChangedAt = wait.Later(i.ChangedAt, was.ChangedAt)
		if i.State == integration.Sandbox && was.State == integration.Sandbox {
			i.SandboxedAt = was.SandboxedAt
			if i.SandboxedCause != "" {
				i.CertifiedPorts = was.CertifiedPorts
			}
		}
		f.Integrations[name] = i
		f.judge(name)
	}
	if f.Governance.Shadow > 0 && old.Governance.Shadow > 0 {
		f.Governance.ShadowAt = old.Governance.ShadowAt
	}
	since := map[Goal]time.Time{} // by id and status
	for _, g := range slices.Concat(old.Goals.Listed, old.Goals.Former) {
		since[Goal{ID: g.ID, Status: g.Status}] = g.Since
	}
	for _, listed := range [][]Goal{f.Goals.Listed, f.Goals.Former} {
		for n, g := range listed {
			if at, known := since[Goal{ID: g.ID, Status: g.Status}]; known {
				listed[n].Since = at
			}
		}
	}
}
