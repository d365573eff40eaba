package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"orgops/functions/authorizer"
	"orgops/functions/dispatcher"
	"orgops/functions/projector"
	"orgops/functions/provisioner"
	"orgops/functions/retrier"
	"orgops/functions/syncer"
	"orgops/functions/ticker"
	"orgops/shared/base/id"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/parked"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/identity/password"
	"orgops/shared/identity/token"
	"orgops/shared/identity/usagekey/gatewaykeys"
	"orgops/shared/insight/projection"
	"orgops/shared/provider/intake"
	"orgops/shared/run/lambda/stream"
	"orgops/shared/run/lambda/work"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
)

// workers returns, for each step that is not an operation, a function that prepares it and returns the part to measure.
func workers() map[string]func(*world) func() {
	return map[string]func(*world) func(){
		"start of a process that verifies tokens": func(w *world) func() { return w.starts(false) },
		"start of a process that signs them":      func(w *world) func() { return w.starts(true) },
		"authorizer: a token":                     (*world).authorizes,
		guarded:                                   (*world).guards,
		"a process's get of a memory, the first one in a minute": (*world).lists,

		"receive-webhook, the sixth forged in a minute": (*world).flooded,

		"projector: a change":                       func(w *world) func() { return w.projects(1) },
		"projector: a change that is a minute late": (*world).projectsLate,
		"projector: 10 changes of a company":        func(w *world) func() { return w.projects(10) },
		"projector: a change with a timeline entry": (*world).projectsTold,
		"projector: a webhook's memory and receipt": (*world).projectsReceipt,

		"projector: the first change after a weekly brief": (*world).projectsWeekly,

		"dispatcher: an event, delivered to an endpoint":  func(w *world) func() { return w.dispatches(false, 1) },
		"dispatcher: an event, failed at the endpoint":    func(w *world) func() { return w.dispatches(true, 1) },
		"dispatcher: 10 events of a company, delivered":   func(w *world) func() { return w.dispatches(false, 10) },
		"dispatcher: an event without subscribers":        (*world).dispatchesUnasked,
		"dispatcher: a recorded delivery":                 (*world).dispatchesRecord,
		"dispatcher: a change given back":                 (*world).dispatchesAgain,
		"dispatcher: a held delivery":                     (*world).dispatchesHeld,
		"dispatcher: a delivery to retry":                 func(w *world) func() { return w.dispatchesJob(delivery.Entity) },
		"dispatcher: a requested sync":                    func(w *world) func() { return w.dispatchesJob(syncrun.Entity) },
		"dispatcher: a requested sync without a schedule": (*world).dispatchesUnwatched,

		"retrier: an attempt, delivered":                    func(w *world) func() { return w.retries(false, 10*time.Second) },
		"retrier: an attempt, failed":                       func(w *world) func() { return w.retries(true, 10*time.Second) },
		"retrier: an attempt at a rate limit":               (*world).retriesLimited,
		"dispatcher: an event to an ordered endpoint":       (*world).dispatchesOrdered,
		"retrier: a delivery of a line, delivered":          (*world).retriesLine,
		"retrier: an early message":                         func(w *world) func() { return w.retries(false, 0) },
		"retrier: a recovery of 10 deliveries, delivered":   (*world).recovers,
		"syncer: a run that finds nothing new":              func(w *world) func() { return w.syncs("one", "") },
		"syncer: an unchanged page of 50":                   func(w *world) func() { return w.syncs("two", "") },
		"syncer: a changed page of 50":                      func(w *world) func() { return w.syncs("three", " next") },
		"syncer: an unchanged page of 50 that moves a goal": (*world).moves,

		"notifier: a matter, for one person": (*world).tells,
		"notifier: a mail":                   (*world).mails,
		"notifier: a mail with a reset":      (*world).resets,
		"notifier: a brief":                  (*world).mailsBrief,
		"notifier: a message to Slack":       (*world).posts,

		"ticker: a minute without anything due":       func(w *world) func() { return w.ticks(0) },
		"ticker: a minute with the canary":            func(w *world) func() { return w.canaries(time.Minute) },
		"ticker: a minute with the canary's delivery": func(w *world) func() { return w.canaries(15 * time.Minute) },
		"ticker: a minute with a due timer":           func(w *world) func() { return w.ticks(1) },
		"ticker: a minute with a goal to review":      (*world).reviews,
		"ticker: a minute with a weekly brief":        (*world).briefs,
		"ticker: a minute with a person's brief":      (*world).briefsOne,

		"provisioner: a company": (*world).provisions,
		"rotator: a rotation":    (*world).rotates,
	}
}

func (w *world) authorizes() func() {
	s := w.fresh()
	verifier := token.NewVerifier(w.tokens(), w.keys.Public())
	a := &authorizer.Authorizer{Logger: s.Logger, Verify: func(_ context.Context, text string) (token.Claims, error) { return verifier.Verify(text) }}
	return func() {
		_, err := a.Handle(w.t.Context(), authorizer.Request{
			Type: "TOKEN", AuthorizationToken: "Bearer " + w.token, MethodARN: "arn:aws:execute-api:eu-central-1:111122223333:q7x2m9k4vd/live/GET/companies/x",
		})
		errtest.Must(w.t, err)
	}
}

// stored reads an item of the company.
func (w *world) stored(key string) store.Item {
	w.t.Helper()
	item, err := w.tenant().Get(w.t.Context(), key, nil)
	errtest.Must(w.t, err)
	return item
}

// put creates an item of the company.
func (w *world) put(key, entity string, body any) store.Item {
	w.t.Helper()
	c := w.tenant()
	errtest.Must(w.t, c.Commit(w.t.Context(), c.Create(key, entity, body)))
	return w.stored(key)
}

// remembered creates a memory of the company.
func (w *world) remembered() store.Item {
	m, _ := memory.Apply(memory.Memory{}, "github", draft(memories+w.next()), w.clock.Now())
	return w.put(memory.Key(m.ID), memory.Entity, m)
}

// next returns an unused number.
func (w *world) next() int {
	w.used++
	return w.used
}

// event returns the stream event for newly created items, after all earlier changes.
func (w *world) event(items ...store.Item) stream.Event {
	e := stream.Event{Shard: "shard"}
	for _, item := range items {
		e.Records = append(e.Records, events.DynamoDBEventRecord{Change: events.DynamoDBStreamRecord{
			SequenceNumber:              fmt.Sprintf("4%029d", w.next()),
			ApproximateCreationDateTime: events.SecondsEpochTime{Time: w.clock.Now()},
			NewImage: map[string]events.DynamoDBAttributeValue{
				"pk": events.NewStringAttribute("C#" + w.company), "sk": events.NewStringAttribute(item.Key),
				"entity": events.NewStringAttribute(item.Entity), "version": events.NewNumberAttribute(strconv.FormatInt(item.Version, 10)),
				"at": events.NewNumberAttribute(strconv.FormatInt(item.At.UnixMilli(), 10)), "body": events.NewStringAttribute(string(item.Body)),
			},
		}})
	}
	return e
}

// handled returns a function that passes an event to a reader of the stream, which must finish all of it.
func (w *world) handled(reader func(context.Context, stream.Event) (stream.Answer, error), e stream.Event) func() {
	return func() {
		answer, err := reader(w.t.Context(), e)
		errtest.Must(w.t, err)
		if failed := answer.BatchItemFailures; len(failed) > 0 {
			w.t.Fatalf("failed records = %v, want none", failed)
		}
	}
}

func (w *world) project(items ...store.Item) func() {
	s := w.fresh()
	return w.handled(stream.ByCompany(projector.From(s).Handle, s.Lot(projector.Consumer)), w.event(items...))
}

func (w *world) memories(n int) (items []store.Item) {
	for range n {
		items = append(items, w.remembered())
	}
	return items
}

func (w *world) projects(n int) func() { return w.project(w.memories(n)...) }

// projectsLate returns the fold of a change that an earlier process may have begun.
func (w *world) projectsLate() func() {
	s, e := w.fresh(), w.event(w.memories(1)...)
	e.Records[0].Change.ApproximateCreationDateTime.Time = w.clock.Now().Add(-time.Minute)
	return w.handled(stream.ByCompany(projector.From(s).Handle, s.Lot(projector.Consumer)), e)
}

// projectsReceipt returns the fold of what one accepted webhook has written.
func (w *world) projectsReceipt() func() {
	receipt := w.put(arrival.ReceiptKey(arrival.Owner{Provider: "webhook"}, "x", false), arrival.ReceiptEntity, arrival.Receipt{})
	return w.project(append(w.memories(1), receipt)...)
}

func (w *world) projectsTold() func() {
	g := w.goal(goals + 1)
	return w.project(w.put("GOAL#"+g.ID, "goal", g))
}

// projectsWeekly prepares a context that was last changed before the week's brief, and returns the fold of a change.
func (w *world) projectsWeekly() func() {
	p, version, err := projection.Load(w.t.Context(), w.tenant())
	errtest.Must(w.t, err)
	p.UpdatedAt = p.UpdatedAt.Add(-timeline.Week)
	errtest.Must(w.t, w.tenant().Commit(w.t.Context(), projection.Save(w.tenant(), version, p)))
	return w.projects(1)
}

func (w *world) dispatch(items ...store.Item) func() {
	s := w.fresh()
	return w.handled(stream.Run(dispatcher.From(s).Run, s.Lot(dispatcher.Consumer)), w.event(items...))
}

func (w *world) dispatches(broken bool, n int) func() {
	w.unbound()
	run := w.dispatch(w.memories(n)...)
	return func() {
		w.fail(broken)
		run()
		w.fail(false)
	}
}

func (w *world) dispatchesUnasked() func() {
	e := w.entry(entered + 1)
	return w.dispatch(w.put(timeline.Key(e.ID), timeline.Entity, e))
}

func (w *world) dispatchesRecord() func() {
	d := w.delivery(w.clock.Now())
	d.EventID = id.New()
	return w.dispatch(w.put(delivery.Key(d.EventID, d.Endpoint), delivery.Entity, d))
}

// dispatchesAgain processes a parked change without events that an operator, or the canary, gives back.
func (w *world) dispatchesAgain() func() {
	change := store.Change{Company: w.company, Key: "X#1", Entity: "x", At: w.clock.Now(), New: &store.Image{Version: 1, Body: []byte("{}")}}
	p := parked.New(dispatcher.Consumer, change, errors.New("odd"), w.clock.Now())
	return w.dispatch(w.put(parked.Key(p.ID), parked.Entity, p))
}

// dispatchesHeld processes the change of a delivery that was held because its endpoint is disabled, as it still is.
func (w *world) dispatchesHeld() func() {
	const provider = "webhook-disabled"
	now := w.clock.Now()
	w.put(integration.Key(provider), integration.Entity, integration.Integration{Provider: provider, Kind: "webhook", CreatedAt: now, UpdatedAt: now})
	d := w.delivery(now)
	d.EventID, d.Endpoint, d.Incarnation = id.New(), provider, ""
	d.Hold("disabled")
	return w.dispatch(w.put(delivery.Key(d.EventID, d.Endpoint), delivery.Entity, d))
}

// scheduled creates a delivery that just failed and is due again in five seconds.
func (w *world) scheduled() (key string, d delivery.Delivery) {
	d = w.delivery(w.clock.Now())
	d.EventID = id.New()
	d.Attempts[0].State, d.Attempts[0].Status = delivery.Failed, 500
	d.Enqueue(w.clock.Now().Add(5 * time.Second))
	return delivery.Key(d.EventID, d.Endpoint), d
}

func (w *world) dispatchesJob(entity string) func() {
	if entity == delivery.Entity {
		key, d := w.scheduled()
		return w.dispatch(w.put(key, entity, d))
	}
	w.free()
	return w.dispatch(w.stored(syncrun.Key(w.begin("feed"))))
}

// dispatchesUnwatched processes the change of a requested sync that only a timer of its own finds if its message is lost.
func (w *world) dispatchesUnwatched() func() {
	run := w.run(0)
	run.ID, run.State = id.New(), syncrun.Requested
	return w.dispatch(w.put(syncrun.Key(run.ID), syncrun.Entity, run))
}

// message returns the event in which Lambda passes a job from a queue.
func (w *world) message(name string, job any) work.Event {
	w.t.Helper()
	body, err := json.Marshal(job)
	errtest.Must(w.t, err)
	q := w.queue(name)
	errtest.Must(w.t, q.Send(w.t.Context(), queue.Message{Body: body, Group: w.company}))
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for {
		received, err := q.Receive(ctx, 1, time.Minute)
		errtest.Must(w.t, err)
		if len(received) != 1 {
			w.t.Fatalf("%d messages of %s, want 1", len(received), name)
		}
		if string(received[0].Body) == string(body) {
			return work.Event{Records: []events.SQSMessage{{MessageId: "one", Body: string(body), ReceiptHandle: received[0].Receipt}}}
		}
	}
}

func (w *world) settled(worker queue.Worker, e work.Event) func() {
	return func() {
		answer, err := work.Each(worker, w.clock.Now)(w.t.Context(), e)
		errtest.Must(w.t, err)
		if failed := answer.BatchItemFailures; len(failed) > 0 {
			w.t.Fatalf("failed messages = %v, want none", failed)
		}
	}
}

func (w *world) retrier() queue.Worker {
	s := w.fresh()
	return retrier.From(s).Worker()
}

// retries processes a delivery that is due in five seconds, that much later.
func (w *world) retries(broken bool, later time.Duration) func() {
	w.unbound()
	key, d := w.scheduled()
	w.put(key, delivery.Entity, d)
	run := w.settled(w.retrier(), w.message("retries", delivery.Job{Company: w.company, Delivery: key[len(delivery.Prefix):], Incarnation: d.Incarnation, Generation: d.Generation}))
	return func() {
		w.clock.Advance(later)
		w.fail(broken)
		run()
		w.fail(false)
	}
}

// order makes the endpoint ordered.
func (w *world) order() {
	w.t.Helper()
	i, version, err := integration.Load(w.t.Context(), w.tenant(), "webhook")
	errtest.Must(w.t, err)
	i.Config = json.RawMessage(strings.Replace(string(i.Config), "{", `{"ordered":true,`, 1))
	errtest.Must(w.t, w.tenant().Commit(w.t.Context(), w.tenant().Replace(integration.Key("webhook"), integration.Entity, version, i)))
}

func (w *world) dispatchesOrdered() func() {
	w.order()
	return w.dispatches(false, 1)
}

// retriesLine processes the head of a line in which another delivery waits.
func (w *world) retriesLine() func() {
	w.unbound()
	lines := delivery.NewLines(w.tenant())
	var head delivery.Delivery
	for n := range 2 {
		d := w.delivery(w.clock.Now())
		d.EventID, d.Line, d.Attempts = id.New(), "MEMORY#1", nil
		errtest.Must(w.t, lines.Join(w.t.Context(), &d, w.clock.Now()))
		w.put(delivery.Key(d.EventID, d.Endpoint), delivery.Entity, d)
		if n == 0 {
			head = d
		}
	}
	errtest.Must(w.t, w.tenant().Commit(w.t.Context(), lines.Ops()...))
	return w.settled(w.retrier(), w.message("retries", delivery.Job{
		Company: w.company, Delivery: head.EventID + "#" + head.Endpoint, Incarnation: head.Incarnation, Generation: head.Generation,
	}))
}

// unbound removes what an earlier step has noted about the endpoint.
func (w *world) unbound() {
	w.t.Helper()
	c := w.tenant()
	item, err := c.Get(w.t.Context(), integration.BoundsKey("webhook", w.incarnation("webhook")), nil)
	if errors.Is(err, store.ErrNotFound) {
		return
	}
	errtest.Must(w.t, err)
	errtest.Must(w.t, c.Commit(w.t.Context(), c.Delete(item.Key, item.Entity, item.Version).Quietly()))
}

// retriesLimited processes a due delivery to the endpoint, which has a rate limit from now on.
func (w *world) retriesLimited() func() {
	i, version, err := integration.Load(w.t.Context(), w.tenant(), "webhook")
	errtest.Must(w.t, err)
	i.Config = json.RawMessage(strings.Replace(string(i.Config), "{", `{"rateLimit":50,`, 1))
	errtest.Must(w.t, w.tenant().Commit(w.t.Context(), w.tenant().Replace(integration.Key("webhook"), integration.Entity, version, i)))
	return w.retries(false, 10*time.Second)
}

// recovers processes the recovery of ten deliveries to the endpoint, which no step before has bound or ordered.
func (w *world) recovers() func() {
	w.unbound()
	i, version, err := integration.Load(w.t.Context(), w.tenant(), "webhook")
	errtest.Must(w.t, err)
	i.Config = json.RawMessage(strings.NewReplacer(`"rateLimit":50,`, "", `"ordered":true,`, "").Replace(string(i.Config)))
	errtest.Must(w.t, w.tenant().Commit(w.t.Context(), w.tenant().Replace(integration.Key("webhook"), integration.Entity, version, i)))
	w.clock.Advance(time.Minute)
	since := w.clock.Now()
	for range 10 {
		w.clock.Advance(time.Millisecond)
		d := w.delivery(w.clock.Now())
		d.Hold("disabled")
		w.put(delivery.Key(d.EventID, d.Endpoint), delivery.Entity, d)
	}
	r := recovery.Recovery{ID: id.New(), Provider: "webhook", Since: since, Until: w.clock.Now(), State: recovery.Requested, RequestedAt: w.clock.Now()}
	w.put(recovery.Key(r.ID), recovery.Entity, recovery.Stored{Recovery: r, Incarnation: w.incarnation("webhook")})
	return w.settled(w.retrier(), w.message("retries", delivery.Job{Company: w.company, Recovery: r.ID}))
}

// syncs runs a sync of the feed with this edition and tag, after a sync with tag one.
func (w *world) syncs(tag, edition string) func() {
	w.publish("one", "")
	w.sync("feed")()
	w.publish(tag, edition)
	return w.sync("feed")
}

// moves syncs a list whose records a goal counts, and whose count the goal lacks again.
func (w *world) moves() func() {
	w.configure("http", `{"url":"`+w.feed.URL+`","itemsPath":"/items","idPath":"/id","titlePath":"/title","bodyPath":"/content_text","target":"memory"}`)
	w.call(ask{method: http.MethodPost, path: "/integrations/http/certification"})
	const body = `{"title":"Entries","measure":{"target":"100","unit":"entries","direction":"up","source":{"provider":"http","stream":"list","pointer":"/id","aggregate":"count"}}}`
	var made goal.Goal
	w.do(w.server(), ask{method: http.MethodPost, path: "/goals", body: body}, &made)
	w.sync("http")()
	c, key := w.tenant(), goal.Key(made.ID)
	item, err := c.Get(w.t.Context(), key, &made)
	errtest.Must(w.t, err)
	if made.Measure.Current != "50" {
		w.t.Fatalf("the goal has the number %q, want the 50 entries", made.Measure.Current)
	}
	made.Measure.Current = "49"
	errtest.Must(w.t, c.Commit(w.t.Context(), c.Replace(key, goal.Entity, item.Version, made)))
	return w.sync("http")
}

func (w *world) sync(provider string) func() {
	w.free()
	run := w.begin(provider)
	return w.settled(syncer.From(w.fresh()).Worker(), w.message("syncs", syncrun.Job{Company: w.company, Run: run}))
}

// ticked returns a ticker for which nothing is due within the next minute.
func (w *world) ticked() *ticker.Ticker {
	s := w.fresh()
	t := ticker.From(s)
	if brief := timeline.NextBrief(w.company, w.clock.Now()); brief.Sub(w.clock.Now()) <= time.Minute {
		w.clock.Set(brief)
	}
	errtest.Must(w.t, t.Tick(w.t.Context()))
	for w.dueSoon(s.Store) {
		w.clock.Advance(time.Minute)
		errtest.Must(w.t, t.Tick(w.t.Context()))
	}
	return t
}

// dueSoon reports whether a timer is due within the next minute, such as that of the feed's schedule.
func (w *world) dueSoon(s store.Store) bool {
	for shard := range store.DueShards {
		page, err := s.Query(w.t.Context(), store.Due(shard), store.DueBy(w.clock.Now().Add(time.Minute)))
		errtest.Must(w.t, err)
		if len(page.Items) > 0 {
			return true
		}
	}
	return false
}

// ticks prepares due expired certifications and returns the tick of the following minute.
func (w *world) ticks(due int) func() {
	t := w.ticked()
	c, end := w.tenant(), w.clock.Now().Add(30*time.Second)
	for range due {
		i := integration.Integration{
			Provider: "webhook-ended", Kind: "webhook", State: integration.Certified, Enabled: true, Config: json.RawMessage(`{"url":"https://example.com/"}`),
			Certification: &integration.Certification{PassedAt: w.clock.Now(), ExpiresAt: end, Ports: []integration.Port{integration.EventDeliver}},
		}
		errtest.Must(w.t, c.Commit(w.t.Context(), c.Create(integration.Key(i.Provider), integration.Entity, i), c.Timer(end, integration.ExpiryTimer, i.Provider+"@1")))
	}
	w.clock.Advance(time.Minute)
	return func() { errtest.Must(w.t, t.Tick(w.t.Context())) }
}

// canaries prepares a canary whose former changes were handled, and returns the tick that writes the next ones after a time.
func (w *world) canaries(after time.Duration) func() {
	t := w.ticked()
	t.Canary, t.Base = true, "https://ops.example.com"
	errtest.Must(w.t, t.Tick(w.t.Context()))
	c := store.For(w.table(mainTable), ticker.CanaryCompany)
	echo, _, err := integration.Load(w.t.Context(), c, "webhook")
	errtest.Must(w.t, err)
	errtest.Must(w.t, c.Commit(w.t.Context(), c.Delete(parked.Key("canary"), parked.Entity, 1).Quietly()))
	back, _ := memory.Apply(memory.Memory{}, "webhook", memory.Draft{ExternalID: ticker.CanaryCompany, Incarnation: echo.Incarnation, Kind: "canary"}, w.clock.Now())
	was, err := c.Get(w.t.Context(), memory.Key(back.ID), nil)
	if !errors.Is(err, store.ErrNotFound) {
		errtest.Must(w.t, err)
	}
	errtest.Must(w.t, c.Commit(w.t.Context(), c.Save(memory.Key(back.ID), memory.Entity, was.Version, back)))
	w.clock.Advance(after - time.Minute)
	w.ticked() // fires what is due meanwhile
	w.clock.Advance(time.Minute)
	return func() { errtest.Must(w.t, t.Tick(w.t.Context())) }
}

// reviews prepares a goal that begins to drift within a minute, and returns the tick after that. The tick sets the timer of
// the goal's next review.
func (w *world) reviews() func() {
	t := w.ticked()
	c, now := w.tenant(), w.clock.Now()
	due := now.AddDate(0, 0, 30)
	g := goal.Goal{ID: id.Of("reviewed"), Provider: "github", Incarnation: w.incarnation("github"), Title: "Ship", State: goal.Open, Progress: 0.350001, CreatedAt: now.AddDate(0, 0, -30), DueAt: &due}
	g.Alignment = goal.Align(g, now)
	ops := append(intake.Review(c, g, 1, now), c.Create(goal.Key(g.ID), goal.Entity, g))
	errtest.Must(w.t, c.Commit(w.t.Context(), ops...))
	w.clock.Advance(time.Minute)
	return func() { errtest.Must(w.t, t.Tick(w.t.Context())) }
}

// briefs prepares a weekly brief that is due within a minute, and returns the tick after that. The brief names a goal
// which was missed: without it, the entry's size is close to a unit's.
func (w *world) briefs() func() {
	missed, due := w.goal(goals+2), w.clock.Now().AddDate(0, 0, -3)
	missed.State, missed.DueAt = goal.Open, &due
	w.project(w.put(goal.Key(missed.ID), goal.Entity, missed))()
	t := w.ticked()
	c := w.tenant()
	errtest.Must(w.t, c.Commit(w.t.Context(), c.Timer(w.clock.Now().Add(30*time.Second), timeline.BriefTimer, "")))
	w.clock.Advance(time.Minute)
	return func() { errtest.Must(w.t, t.Tick(w.t.Context())) }
}

func (w *world) provisions() func() {
	s := w.fresh()
	p := &provisioner.Provisioner{
		Store: s.Store, Hasher: password.New(), Logger: s.Logger, Now: s.Now,
		Plans: gatewaykeys.Open(w.others.Access(), map[string]string{"pro": awstest.UsagePlan(w.t, w.others.Access(), "pro")}),
	}
	return func() {
		_, err := p.Handle(w.t.Context(), provisioner.Request{Name: "Other", Email: "bob@example.com", Plan: "pro"})
		errtest.Must(w.t, err)
	}
}
