package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// The company's data: enough to fill every page.
const (
	memories   = 60
	goals      = 60
	entered    = 60 // timeline entries
	runs       = 60
	deliveries = 60
	decisions  = 60
	openGoals  = 20
)

// prose returns a text of about size bytes, different for each number, because repetitive text would compress too well.
func prose(number, size int) string {
	words := strings.Fields("launch the second version of our billing in every country before customers ask again why exports miss " +
		"a page when printers burn and nobody on call has seen which alarm was first to ring about delivery queues growing")
	random := rand.New(rand.NewPCG(uint64(number), 1))
	var out []string
	for n := 0; n < size; {
		word := words[random.IntN(len(words))]
		out, n = append(out, word), n+len(word)+1
	}
	return strings.Join(out, " ")
}

const (
	titleSize = 50
	bodySize  = 600 // so that a memory's item has 1.1 KB
)

type seeded struct{ memory, goal, delivery, run string }

// seed gives the company three certified connectors, three days of deliveries, and the items that the constants count.
func (w *world) seed() {
	w.configure("webhook", `{"url":"`+w.receiver.URL+`","events":["memory.*"],"signingSecret":"`+secret+`"}`)
	w.configure("github", `{"repository":"octo/app","signingSecret":"a secret of github"}`)
	w.configure("feed", `{"url":"`+w.feed.URL+`","schedule":"1h"}`)
	for _, provider := range []string{"webhook", "github", "feed"} {
		w.call(ask{method: http.MethodPost, path: "/integrations/" + provider + "/certification"})
	}
	c, now := w.tenant(), w.clock.Now()
	var ops []store.Op
	for n := range memories {
		m, _ := memory.Apply(memory.Memory{}, "github", draft(n), now)
		ops = append(ops, c.Create(memory.Key(m.ID), memory.Entity, m))
		w.seeded.memory = m.ID
	}
	for n := range goals {
		g := w.goal(n)
		ops = append(ops, c.Create(goal.Key(g.ID), goal.Entity, g))
		w.seeded.goal = g.ID
	}
	for n := range entered {
		e := w.entry(n)
		ops = append(ops, c.Create(timeline.Key(e.ID), timeline.Entity, e).Until(e.At.Add(timeline.Kept)))
	}
	for n := range runs {
		r := w.run(n)
		ops = append(ops, c.Create(syncrun.Key(r.ID), syncrun.Entity, r).Until(r.RequestedAt.Add(syncrun.Kept)))
		w.seeded.run = r.ID
	}
	for n := range deliveries {
		d := w.delivery(now.Add(-time.Duration(n) * time.Minute))
		ops = append(ops, c.Create(delivery.Key(d.EventID, d.Endpoint), delivery.Entity, d).Until(d.CreatedAt.Add(delivery.Kept)))
		w.seeded.delivery = d.EventID
	}
	for n := range decisions {
		ops = append(ops, policy.Create(c, w.decision(n)))
	}
	ops = append(ops, projection.Save(c, 0, w.context()))
	for len(ops) > 0 {
		n := min(len(ops), store.MaxOps)
		errtest.Must(w.t, c.Commit(w.t.Context(), ops[:n]...))
		ops = ops[n:]
	}
}

func draft(number int) memory.Draft {
	externalID := "octo/app/issues/" + strconv.Itoa(number)
	return memory.Draft{
		ExternalID: externalID, Kind: "issue", Title: prose(number, titleSize), Body: prose(number, bodySize),
		URL: "https://github.com/" + externalID,
	}
}

func (w *world) goal(n int) goal.Goal {
	due, began, state := w.clock.Now().AddDate(0, 0, 30), w.clock.Now().AddDate(0, 0, -30), goal.Closed
	if n < openGoals {
		state = goal.Open
	}
	g, _ := goal.Apply(goal.Goal{}, "github", goal.Draft{
		Incarnation: w.incarnation("github"),
		ExternalID:  "octo/app/milestones/" + strconv.Itoa(n), Title: prose(n, titleSize), Progress: 0.5,
		URL: "https://github.com/octo/app/milestone/" + strconv.Itoa(n), DueAt: &due, StartedAt: &began, State: state,
	}, w.clock.Now())
	return g
}

func (w *world) entry(n int) timeline.Entry {
	at := w.clock.Now().Add(-time.Duration(n) * time.Hour)
	return timeline.Entry{
		ID: id.At(at, strconv.Itoa(n)), At: at, Kind: timeline.MemorySynced, Title: fmt.Sprintf("feed was synced: %d created, %d updated", n%7, n%5),
		Actor: timeline.Reference{Type: "integration", ID: "feed"}, Subject: timeline.Reference{Type: "sync", ID: id.New()},
		Details: json.RawMessage(fmt.Sprintf(`{"created":%d,"updated":%d,"unchanged":45,"failed":0}`, n%7, n%5)),
	}
}

func (w *world) decision(n int) policy.Decision {
	at := w.clock.Now().Add(-time.Duration(n) * time.Minute)
	return policy.Decision{
		ID: id.At(at, "decision", strconv.Itoa(n)), Verdict: policy.Permitted, Principal: timeline.Reference{Type: "integration", ID: "github"},
		Action: "memory.upsert", Resource: timeline.Reference{Type: "memory", ID: id.New()}, Policies: []string{"permit-connector-actions"},
		PolicySet: "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU", Reasons: []string{"the action is within the permissions of the integration"}, At: at,
	}
}

func (w *world) run(n int) syncrun.StoredRun {
	at := w.clock.Now().Add(-time.Duration(n) * time.Hour)
	return syncrun.StoredRun{Incarnation: w.incarnation("feed"), Run: syncrun.Run{
		ID: id.At(at, "run", strconv.Itoa(n)), Provider: "feed", Mode: syncrun.Live, State: syncrun.Succeeded, RequestedBy: id.New(),
		RequestedAt: at, StartedAt: &at, FinishedAt: &at, Progress: syncrun.Progress{Pages: 1, Fetched: 50, Created: 3, Updated: 2, Unchanged: 45},
	}}
}

// incarnation returns the incarnation of an integration, "" if it is not configured.
func (w *world) incarnation(provider string) string {
	w.t.Helper()
	var i integration.Integration
	if _, err := w.tenant().Get(w.t.Context(), integration.Key(provider), &i); !errors.Is(err, store.ErrNotFound) {
		errtest.Must(w.t, err)
	}
	return i.Incarnation
}

// delivery returns a delivery that succeeded at once: an item of 1.7 KB with the memory in its payload.
// It has no excerpt: with one, the page of a list has a size at the edge of a read unit, which the ids then decide.
func (w *world) delivery(at time.Time) delivery.Delivery {
	m, _ := memory.Apply(memory.Memory{}, "github", draft(1), at)
	data, err := json.Marshal(m)
	errtest.Must(w.t, err)
	event := id.At(at, "event")
	d := delivery.Delivery{
		Head: delivery.Head{
			EventID: event, Endpoint: "webhook", Incarnation: w.incarnation("webhook"), Event: "memory.created", CreatedAt: at,
		},
		Payload: json.RawMessage(fmt.Sprintf(`{"id":%q,"type":"memory.created","timestamp":%q,"companyId":%q,"data":%s}`,
			event, at.Format(time.RFC3339), w.company, data)),
	}
	d.Log(delivery.Attempt{Number: 1, State: delivery.Delivered, At: at, Status: http.StatusOK, LatencyMS: 120})
	d.End(delivery.Delivered)
	return d
}

// context returns the fold of all changes: three days with a delivery every five minutes.
func (w *world) context() projection.Context {
	var changes []store.Change
	add := func(at time.Time, key, entity string, body any) {
		encoded, err := json.Marshal(body)
		errtest.Must(w.t, err)
		changes = append(changes, store.Change{
			Sequence: store.Sequence(fmt.Sprintf("%06d", len(changes)+1)), Company: w.company, Key: key, Entity: entity, At: at,
			New: &store.Image{Version: 1, Body: encoded},
		})
	}
	all, err := integration.List(w.t.Context(), w.tenant())
	errtest.Must(w.t, err)
	for _, i := range all {
		add(w.clock.Now().AddDate(0, 0, -4), integration.Key(i.Provider), integration.Entity, i.Integration)
	}
	for at := w.clock.Now().AddDate(0, 0, -3); at.Before(w.clock.Now()); at = at.Add(5 * time.Minute) {
		d := w.delivery(at)
		add(at, delivery.Key(d.EventID, d.Endpoint), delivery.Entity, d)
	}
	for n := range goals {
		g := w.goal(n)
		add(w.clock.Now(), goal.Key(g.ID), goal.Entity, g)
	}
	for n := range memories {
		m, _ := memory.Apply(memory.Memory{}, "github", draft(n), w.clock.Now())
		add(w.clock.Now(), memory.Key(m.ID), memory.Entity, m)
	}
	r := w.run(0)
	add(w.clock.Now(), syncrun.Key(r.ID), syncrun.Entity, r)
	for n := range entered {
		e := w.entry(entered - n)
		add(w.clock.Now(), timeline.Key(e.ID), timeline.Entity, e)
	}
	folded, _, failed := projection.Fold(projection.Empty(w.company), changes)
	errtest.Must(w.t, failed.Err())
	folded.Company.Founders = 1 // a recommendation is open
	return folded
}

// entries serves the feed: 304 for the current tag, otherwise 50 entries of 600 bytes in the current edition.
func (w *world) entries(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	tag, edition := w.tag, w.edition
	w.mu.Unlock()
	out.Header().Set("ETag", `"`+tag+`"`)
	out.Header().Set("Content-Type", "application/feed+json")
	if r.Header.Get("If-None-Match") == `"`+tag+`"` {
		out.WriteHeader(http.StatusNotModified)
		return
	}
	type entry struct {
		ID    string `json:"id"`
		Title string `json:"title"`
		Text  string `json:"content_text"`
		URL   string `json:"url"`
	}
	var items []entry
	for n := range 50 {
		number := strconv.Itoa(n)
		items = append(items, entry{ID: number, Title: "Entry " + number + edition, Text: prose(n, bodySize), URL: "https://example.com/" + number})
	}
	_ = json.NewEncoder(out).Encode(map[string]any{"version": "https://jsonfeed.org/version/1.1", "title": "News", "items": items})
}

// publish gives the feed a tag and an edition, which is part of the titles.
func (w *world) publish(tag, edition string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tag, w.edition = tag, edition
}
