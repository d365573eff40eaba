package projection

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"orgops/shared/base/text"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
)

// CompanyEntity names the entity of the company's own item. This package does not import company, because that would link
// password hashing too.
const CompanyEntity = "company"

// Fold applies changes of one company, in feed order, and returns the new context with the timeline entries that the
// changes caused. It skips changes up to the position in their shard. It never changes p. The changes of a shard must be in the
// order of their sequence numbers, and so must the batches that are folded one after the other: Fold takes a late change
// for a repeated one and skips it.
//
// Fold also skips a change whose item it cannot decode, and returns it with the reason. The context and the entries are
// valid all the same. ContextVersion counts the changes of which the context shows something; what only adds to the sizes does not move it.
// The caller need not store a context that does not differ from p: see Differs.
func Fold(p Context, changes []store.Change) (next Context, entries []timeline.Entry, failed Failures) {
	f := folding{Context: p}
	for _, c := range changes {
		if f.has(c) {
			continue
		}
		if rule := f.rule(c.Entity); rule != nil && (c.New != nil || !Expires(c.Entity)) {
			if err := f.apply(c, rule); err != nil {
				failed = append(failed, Failure{Change: c, Err: err})
			} else if !f.unseen {
				f.ContextVersion++
			}
		}
		f.pass(c)
	}
	return f.Context, f.entries, failed
}

// apply folds one change. Of a change whose facts a rebuild has read from the records, it adds the entries only, and the size, which a
// rebuild does not read.
func (f *folding) apply(c store.Change, rule func(store.Change) error) error {
	f.unseen = false
	if f.covers(c) {
		f.own()
		f.measure(c)
		aside := folding{Context: f.Context}
		aside.own()
		err := aside.rule(c.Entity)(c)
		f.entries, f.unseen = append(f.entries, aside.entries...), aside.unseen
		return err
	}
	f.own()
	if err := rule(c); err != nil {
		return err
	}
	if !f.unseen {
		f.reach(c.At)
		f.bound()
	}
	f.measure(c)
	return nil
}

// Differs reports whether a context that Fold has made of p has to be stored in p's place. A context that differs by its position alone
// includes no further change.
func (p Context) Differs(was Context) bool {
	return p.ContextVersion != was.ContextVersion || !maps.EqualFunc(p.Sizes, was.Sizes, slices.Equal)
}

type folding struct {
	Context
	owned   bool // Context shares no maps or slices with Fold's argument, but Shards
	moved   bool // Context has a map Shards of its own
	unseen  bool // the context shows nothing of the last change
	entries []timeline.Entry
}

// rule returns the function that folds changes of an entity, nil for an entity that the context does not show.
func (f *folding) rule(entity string) func(store.Change) error {
	switch entity {
	case delivery.Entity:
		return f.delivery
	case memory.Entity:
		return f.memory
	case goal.Entity:
		return f.goal
	case goal.ExplanationEntity:
		return f.explanation
	case syncrun.Entity:
		return f.sync
	case integration.Entity:
		return f.integration
	case timeline.Entity:
		return f.timeline
	case recommendation.Entity:
		return f.recommendation
	case CompanyEntity:
		return f.company
	case approval.Entity:
		return f.approval
	case policy.StoredEntity:
		return f.policies
	case arrival.ReceiptEntity:
		return f.receipt
	case arrival.Entity:
		return f.refusals
	case MarkEntity:
		return f.mark
	case audit.Entity, executive.RecordEntity, policy.Entity:
		return f.counted
	}
	return nil
}

// Shows reports whether a context shows facts of the items of an entity, more than their size.
func Shows(entity string) bool { return !isCounted(entity) && new(folding).rule(entity) != nil }

// own copies, on its first call, every map and slice that folding changes in place.
func (f *folding) own() {
	if f.owned {
		return
	}
	f.owned = true
	f.Integrations, f.Incarnations = maps.Clone(f.Integrations), maps.Clone(f.Incarnations)
	f.Memory.Providers = maps.Clone(f.Memory.Providers)
	f.Syncs, f.Results = maps.Clone(f.Syncs), maps.Clone(f.Results)
	f.Recommendations, f.Executives = maps.Clone(f.Recommendations), maps.Clone(f.Executives)
	f.Goals.Listed, f.Goals.Former = slices.Clone(f.Goals.Listed), slices.Clone(f.Goals.Former)
	f.Goals.Providers, f.Goals.Explained = maps.Clone(f.Goals.Providers), maps.Clone(f.Goals.Explained)
	f.Sizes = cloneSizes(f.Sizes)
	f.Goals.Work, f.Timeline = maps.Clone(f.Goals.Work), slices.Clone(f.Timeline)
	f.Governance.Waiting, f.Governance.Unanswered = slices.Clone(f.Governance.Waiting), slices.Clone(f.Governance.Unanswered)
	d := &f.Deliveries
	d.Recent, d.Hourly, d.Daily, d.Pending = d.Recent.clone(), d.Hourly.clone(), d.Daily.clone(), slices.Clone(d.Pending)
	endpoints := make(map[string]Endpoint, len(d.Endpoints))
	for name, e := range d.Endpoints {
		e.Hourly, e.Held, e.Dead, e.Former = e.Hourly.clone(), slices.Clone(e.Held), slices.Clone(e.Dead), slices.Clone(e.Former)
		endpoints[name] = e
	}
	d.Endpoints = endpoints
}

// addEntry adds a timeline entry that a change caused. Its id follows from the change, so folding again gives the same entry.
func (f *folding) addEntry(c store.Change, kind timeline.Kind, e timeline.Entry) {
	e.ID = timeline.ID(c.At, kind, c.Company, c.Key, strconv.FormatInt(c.New.Version, 10))
	e.At, e.Kind, e.Title = c.At.UTC(), kind, text.TruncateJSON(e.Title, maxText)
	f.entries = append(f.entries, e)
}

// details encodes an entry's details. Maps of plain values always encode.
func details(m map[string]any) json.RawMessage {
	b, _ := json.Marshal(m)
	return b
}

// system returns the actor of changes that the service made by itself.
func system() timeline.Reference { return timeline.Reference{Type: "system", ID: "orgops"} }

// tallyDay and tallyDays set the steps in which held and dead deliveries are counted.
const (
	tallyDay  = 24 * time.Hour
	tallyDays = 4 * tallyDay
)
