package simulate_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/schedule"
)

// check checks every invariant of a world at rest.
func (w *world) check() {
	if w.refused != nil {
		w.violated("clients", "%v", w.refused)
	}
	w.checkRest()
	w.checkWishes()
	w.checkDecisions()
	w.checkAudits()
	w.checkElder()
	for _, company := range w.companies {
		changes := w.changes(company)
		w.checkReached(company, changes)
		w.checkAnswered(changes, company)
		logs := w.logs(changes)
		w.checkAttempts(company, logs)
		w.checkOrder(company, changes, logs)
		w.checkHeld(company, logs)
		w.checkPrompt(company, logs)
		w.checkContext(company, changes)
		w.checkIsolation(company)
	}
}

// changes returns a company's changes in the order of their commits.
func (w *world) changes(company string) []store.Change {
	for _, r := range w.table.Stream().Records(w.decoded) {
		change, ok, err := r.Change()
		change.Shard = w.table.Stream().ShardOf(w.decoded).ID
		w.decoded++
		if err != nil {
			w.violated("records", "%s: %v", r.Sequence, err)
		}
		if ok {
			w.changed[change.Company] = append(w.changed[change.Company], change)
		}
	}
	return w.changed[company]
}

// checkRest checks that the queues are empty and that no work is left.
func (w *world) checkRest() {
	for _, q := range []*line{w.retries, w.syncs, w.notices} {
		for _, m := range q.Messages() {
			w.violated("rest", "%s still holds %s", q.name, m.Body)
		}
		for _, l := range q.Dead() {
			w.violated("rest", "%s buried %s: %s", q.name, l.Body, l.Reason)
		}
	}
	for _, m := range w.mappings {
		for _, r := range m.dropped {
			w.violated("rest", "the mapping of %s dropped the record %s", m.f.name, r.Sequence)
		}
		for _, r := range m.shards {
			for _, l := range r.lanes {
				if len(l.waiting) > 0 {
					w.violated("rest", "%s still has %d records", l.name, len(l.waiting))
				}
			}
		}
	}
	if at := w.nextTimer(); !at.IsZero() && at.Before(time.Now()) {
		w.violated("rest", "a timer of %v has not fired", at)
	}
	for _, company := range w.companies {
		w.checkEnded(company)
		w.checkBriefs(company)
		w.checkNotices(company)
	}
}

// checkBriefs checks that a company has one timer of a weekly brief, and an entry for each brief that was due.
func (w *world) checkBriefs(company string) {
	timers := 0
	for _, p := range w.table.Partitions() {
		if !strings.HasPrefix(p.String(), "DUE#") {
			continue
		}
		for _, item := range w.table.Query(time.Now(), p, store.Query{}).Items {
			var timer store.Timer
			if err := item.Decode(&timer); err == nil && timer.Company == company && timer.Kind == timeline.BriefTimer {
				timers++
			}
		}
	}
	if timers != 1 {
		w.violated("rest", "%s has %d timers of weekly briefs, want 1", company, timers)
	}
	due, briefs := 0, 0
	for at := timeline.NextBrief(company, w.trace.start); !at.After(time.Now()); at = at.Add(timeline.Week) {
		due++
	}
	for _, item := range w.items(company, timeline.Prefix) {
		var e timeline.Entry
		if err := item.Decode(&e); err == nil && e.Kind == timeline.Brief {
			briefs++
		}
	}
	if briefs != due {
		w.violated("rest", "%s has %d weekly briefs, want %d", company, briefs, due)
	}
}

// checkEnded checks that syncs and recoveries have ended.
func (w *world) checkEnded(company string) {
	for _, item := range w.items(company, syncrun.Prefix) {
		var run syncrun.StoredRun
		if err := item.Decode(&run); err != nil || !run.State.Ended() {
			w.violated("rest", "%s of %s is %s: %v", item.Key, company, run.State, err)
		}
	}
	for _, item := range w.items(company, recovery.Prefix) {
		var r recovery.Stored
		if err := item.Decode(&r); err != nil || r.State != recovery.Finished {
			w.violated("rest", "%s of %s is %s: %v", item.Key, company, r.State, err)
		}
	}
	for _, item := range w.items(company, syncrun.SlotKey("")) {
		var slot syncrun.Slot
		if err := item.Decode(&slot); err != nil || slot.Run != "" {
			w.violated("rest", "%s of %s holds the run %s: %v", item.Key, company, slot.Run, err)
		}
	}
}

// checkReached checks that each event reached each endpoint that subscribes to it, or is a dead letter or held for an
// endpoint that is dead.
func (w *world) checkReached(company string, changes []store.Change) {
	for _, change := range changes {
		events, err := event.Of(change)
		if err != nil {
			w.violated("reached", "%v", err)
		}
		for _, e := range events {
			for _, to := range w.receiversOf(company) {
				if event.Matches(to.events, e.Type) {
					w.checkDelivery(to, e)
				}
			}
		}
	}
}

func (w *world) checkDelivery(to *receiver, e event.Event) {
	var d delivery.Delivery
	if _, err := w.company(to.company).Get(w.t.Context(), delivery.Key(e.ID, to.provider), &d); err != nil {
		w.violated("reached", "%s %s has no delivery to %s: %v", e.Type, e.ID, to.host(), err)
		return
	}
	accepted := false
	for _, r := range to.requests[e.ID] {
		accepted = accepted || r.status >= 200 && r.status < 300
	}
	switch {
	case to.mood == departed && d.State != delivery.Dead && d.State != delivery.Held:
		w.violated("reached", "%s %s to %s, which is dead, is %s", e.Type, e.ID, to.host(), d.State)
	case to.mood != departed && d.State != delivery.Delivered:
		w.violated("reached", "%s %s to %s is %s", e.Type, e.ID, to.host(), d.State)
	case d.State == delivery.Delivered && !accepted:
		w.violated("reached", "%s %s to %s counts as delivered, but was never accepted", e.Type, e.ID, to.host())
	}
}

// logged is a change of a delivery's record.
type logged struct {
	store.Change
	was, is delivery.Delivery
}

// logs decodes the changes of the records of deliveries.
func (w *world) logs(changes []store.Change) (all []logged) {
	last := map[string]logged{} // by key; the new image of a change is usually the old one of the next
	for _, c := range changes {
		if c.Entity != delivery.Entity {
			continue
		}
		l, before := logged{Change: c}, last[c.Key]
		if c.Old != nil && before.New != nil && before.New.Version == c.Old.Version {
			l.was = before.is
		} else {
			w.decode(c, c.Old, &l.was)
		}
		w.decode(c, c.New, &l.is)
		last[c.Key] = l
		all = append(all, l)
	}
	return all
}

// decode decodes an image of a change, if there is one.
func (w *world) decode(c store.Change, image *store.Image, into *delivery.Delivery) {
	if image == nil {
		return
	}
	if err := json.Unmarshal(image.Body, into); err != nil {
		w.violated("records", "%s: %v", c.Key, err)
	}
}

// checkAttempts checks that no delivery had more attempts than its schedule allows. An attempt that could not be recorded
// may be made again.
func (w *world) checkAttempts(company string, logs []logged) {
	restarts := restartsOf(logs)
	for _, l := range logs {
		if l.is.Made > schedule.Attempts {
			w.violated("attempts", "%s of %s has made %d", l.Key, company, l.is.Made)
		}
	}
	for _, to := range w.receiversOf(company) {
		for _, id := range sortedKeys(to.requests) {
			n := 0
			for _, r := range to.requests[id] {
				if r.excused == "" {
					n++
				}
			}
			if most := schedule.Attempts * (1 + restarts[delivery.Key(id, to.provider)]); n > most {
				w.violated("attempts", "%s got %s %d times, want at most %d", to.host(), id, n, most)
			}
		}
	}
}

// restartsOf counts how often each delivery was sent again after it had ended: through the queue, or by a recovery at once.
func restartsOf(logs []logged) map[string]int {
	restarts := map[string]int{}
	for _, l := range logs {
		if l.was.Recoverable() && (l.is.Generation > l.was.Generation || l.is.State == delivery.Waiting) {
			restarts[l.Key]++
		}
	}
	return restarts
}

// checkOrder checks that an ordered endpoint received no event about a record after a later one. A delivery that was sent
// again after its end is at the end of its line, so it may come late.
func (w *world) checkOrder(company string, changes []store.Change, logs []logged) {
	restarts := restartsOf(logs)
	bySubject := map[string][]string{}
	for _, c := range changes {
		events, _ := event.Of(c) // checkReached reports the error
		for _, e := range events {
			bySubject[c.Key] = append(bySubject[c.Key], e.ID)
		}
	}
	for _, to := range w.receiversOf(company) {
		if !to.ordered {
			continue
		}
		for _, subject := range sortedKeys(bySubject) {
			latest := 0
			for _, id := range bySubject[subject] {
				if restarts[delivery.Key(id, to.provider)] > 0 {
					continue
				}
				for _, r := range to.requests[id] {
					if r.number < latest {
						w.violated("order", "%s received %s about %s, attempt %d of all, after attempt %d for an earlier event", to.host(), id, subject, r.number, latest)
					}
				}
				for _, r := range to.requests[id] {
					latest = max(latest, r.number)
				}
			}
		}
	}
}

func (w *world) receiversOf(company string) (all []*receiver) {
	for _, host := range sortedKeys(w.receivers) {
		if to := w.receivers[host]; to.company == company {
			all = append(all, to)
		}
	}
	return all
}

// checkHeld checks that a held delivery keeps its payload, and leaves that state only for another attempt.
func (w *world) checkHeld(company string, logs []logged) {
	for _, l := range logs {
		switch {
		case l.Old == nil:
		case l.New == nil && l.At.Before(l.was.Expires()):
			w.violated("held", "%s of %s, which was %s, is gone", l.Key, company, l.was.State)
		case l.New == nil:
		case !bytes.Equal(l.was.Payload, l.is.Payload):
			w.violated("held", "%s of %s has another payload", l.Key, company)
		case l.is.State == delivery.Held && l.is.HeldBecause == "configuration" && l.is.Endpoint != mover: // its secrets are deleted
			w.violated("sealed", "%s of %s is held for its configuration, but only the key service failed", l.Key, company)
		case l.was.State == delivery.Held && l.is.State != delivery.Held && !l.is.Open() && l.is.State != delivery.Waiting && !attempted(l):
			w.violated("held", "%s of %s went from held to %s", l.Key, company, l.is.State)
		}
	}
}

// attempted reports whether a change records an attempt.
func attempted(l logged) bool {
	was, _ := l.was.Last()
	is, _ := l.is.Last()
	return is.Number > was.Number
}

// These limit how long a due delivery waits for its attempt, if its receiver always answers 2xx: soon in general; found if messages
// get lost, because a timer looks for their deliveries, and in an outage, whose messages come back up to half an hour later.
const (
	soon  = 10 * time.Minute
	found = time.Hour + delivery.OverdueAfter + 5*time.Minute
)

// checkPrompt checks that healthy receivers got what was due soon.
func (w *world) checkPrompt(company string, logs []logged) {
	due, most := map[string]time.Time{}, soon
	switch {
	case w.plan.on[lost] || w.plan.on[outage]:
		most = found
	case w.plan.on[hot]:
		most += 10 * time.Minute // for which the store refuses the records
	}
	if w.plan.on[keyless] {
		most += 10 * time.Minute
	}
	for _, l := range logs {
		to := w.receivers[l.is.Endpoint+"."+company+".test"]
		if to == nil || to.mood != well {
			continue
		}
		if since, waited := due[l.Key]; waited && l.At.Sub(since) > most {
			w.violated("prompt", "%s to %s waited for %v, want at most %v", l.Key, to.host(), l.At.Sub(since), most)
		}
		delete(due, l.Key)
		if l.is.Open() {
			due[l.Key] = *l.is.NextAttemptAt
		}
	}
}

// checkContext checks that the stored context is the fold of all changes in order, and that its timeline entries exist.
func (w *world) checkContext(company string, changes []store.Change) {
	var seen []store.Change
	follows := projected()
	for _, c := range changes {
		removed := projection.Expires(c.Entity) && c.New == nil // the filter drops it
		if slices.Contains(follows, c.Entity) && c.Entity != projection.DueEntity && !removed {
			seen = append(seen, c)
		}
	}
	want, entries, failed := projection.Fold(projection.Empty(company), seen)
	if err := failed.Err(); err != nil {
		w.violated("context", "%v", err)
	}
	got, _, err := projection.Load(w.t.Context(), w.company(company))
	if err != nil {
		w.violated("context", "%v", err)
	}
	want.ContextVersion += w.rebuilt[company]
	want.Rebuilding = projection.Rebuilding{} // a rebuild that gave up ends within the hour, and its marks after it
	got.Rebuilding = projection.Rebuilding{}
	want.Applied, want.Rebuilt, want.Gathers = got.Applied, got.Rebuilt, got.Gathers // the shards are followed in any order
	if !same(got, want) {
		w.violated("context", "%s has another context (-want +got): %s", company, cmp.Diff(want, got))
	}
	w.checkRebuilt(company, got)
	for _, e := range entries {
		if _, err := w.company(company).Get(w.t.Context(), timeline.Key(e.ID), nil); err != nil {
			w.violated("context", "%s has no entry %s: %v", company, e.Title, err)
		}
	}
}

// checkRebuilt checks that the records give the same context.
func (w *world) checkRebuilt(company string, want projection.Context) {
	got, failed := projection.Rebuild(want, w.items(company, ""))
	if err := failed.Err(); err != nil {
		w.violated("rebuilt", "%v", err)
	}
	want.ContextVersion++
	if !same(got, want) {
		w.violated("rebuilt", "the records of %s give another context (-want +got): %s", company, cmp.Diff(want, got))
	}
}

// same reports whether two contexts are stored in the same way, or are the same when they are read again.
func same(a, b projection.Context) bool {
	once, _ := json.Marshal(a) // plain values always encode
	other, _ := json.Marshal(b)
	return bytes.Equal(once, other) || canonical(a) == canonical(b)
}

// canonical returns a context in the form in which it is stored and read again.
func canonical(p projection.Context) string {
	once, _ := json.Marshal(p) // plain values always encode
	var again projection.Context
	if err := json.Unmarshal(once, &again); err != nil {
		return err.Error()
	}
	twice, _ := json.Marshal(again)
	return string(twice)
}

// checkIsolation checks that no item of a company names another company.
func (w *world) checkIsolation(company string) {
	for _, item := range w.items(company, "") {
		for _, other := range w.companies {
			if other != company && bytes.Contains(item.Body, []byte(other)) {
				w.violated("isolation", "%s of %s names %s", item.Key, company, other)
			}
		}
	}
}
