package projection

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"orgops/shared/delivery"
	"orgops/shared/goal"
	"orgops/shared/integration"
	"orgops/shared/memory"
	"orgops/shared/store"
	"orgops/shared/syncrun"
	"orgops/shared/timeline"
)

// companyEntity is the company's own item. Its package also hashes passwords, which a projection has no use for.
const companyEntity = "company"

// Fold applies changes of one company, in feed order, and returns the new context with the timeline entries that the
// changes caused. Changes up to p.Applied are passed over. It never changes p.
//
// An item that cannot be decoded is passed over too: err then joins what was wrong, and the context and the entries
// are good nevertheless. When ContextVersion is what it was, nothing was folded and nothing needs to be stored.
func Fold(p Context, changes []store.Change) (next Context, entries []timeline.Entry, err error) {
	f := folding{Context: p}
	var failures []error
	for _, c := range changes {
		if c.Sequence.Compare(f.Applied) <= 0 {
			continue
		}
		if apply := f.rule(c.Entity); apply != nil {
			f.own()
			if err := apply(c); err != nil {
				failures = append(failures, fmt.Errorf("fold %s: %w", c.Key, err))
			} else {
				f.ContextVersion++
				f.settle(c.At.UTC())
			}
		}
		f.Applied = c.Sequence
	}
	return f.Context, f.entries, errors.Join(failures...)
}

type folding struct {
	Context
	owned   bool // Context shares nothing with what Fold was given
	entries []timeline.Entry
}

// rule is how a change of an entity is folded, nil where it is of no interest.
func (f *folding) rule(entity string) func(store.Change) error {
	switch entity {
	case delivery.Entity:
		return f.delivery
	case memory.Entity:
		return f.memory
	case goal.Entity:
		return f.goal
	case syncrun.Entity:
		return f.sync
	case integration.Entity:
		return f.integration
	case timeline.Entity:
		return f.timeline
	case companyEntity:
		return f.company
	}
	return nil
}

// own copies everything that folding changes in place, once.
func (f *folding) own() {
	if f.owned {
		return
	}
	f.owned = true
	f.Integrations = maps.Clone(f.Integrations)
	f.Memory.Providers = maps.Clone(f.Memory.Providers)
	f.Syncs = maps.Clone(f.Syncs)
	f.Goals.Listed = slices.Clone(f.Goals.Listed)
	f.Timeline = slices.Clone(f.Timeline)
	d := &f.Deliveries
	d.Recent, d.Hourly, d.Pending = d.Recent.clone(), d.Hourly.clone(), slices.Clone(d.Pending)
	endpoints := make(map[string]Endpoint, len(d.Endpoints))
	for name, e := range d.Endpoints {
		e.Hourly, e.Held, e.Dead = e.Hourly.clone(), slices.Clone(e.Held), slices.Clone(e.Dead)
		endpoints[name] = e
	}
	d.Endpoints = endpoints
}

// tell adds a timeline entry that a change caused. Its id follows from the change, so a repeat gives the same entry.
func (f *folding) tell(c store.Change, kind timeline.Kind, e timeline.Entry) {
	e.ID = timeline.ID(c.At, kind, c.Company, c.Key, strconv.FormatInt(c.New.Version, 10))
	e.At, e.Kind, e.Title = c.At.UTC(), kind, cut(e.Title, maxText)
	f.entries = append(f.entries, e)
}

// system is the actor of what nobody in particular did.
func system() timeline.Reference { return timeline.Reference{Type: "system", ID: "orgops"} }

// tallyDay is the step by which held and dead deliveries are counted.
const tallyDay = 24 * time.Hour
