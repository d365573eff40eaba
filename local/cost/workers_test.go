package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"orgops/functions/authorizer"
	"orgops/functions/dispatcher"
	"orgops/functions/projector"
	"orgops/functions/provisioner"
	"orgops/functions/retrier"
	"orgops/functions/syncer"
	"orgops/functions/ticker"
	"orgops/shared/awstest"
	"orgops/shared/delivery"
	"orgops/shared/id"
	"orgops/shared/integration"
	"orgops/shared/lambda/stream"
	"orgops/shared/lambda/work"
	"orgops/shared/memory"
	"orgops/shared/queue"
	"orgops/shared/recovery"
	"orgops/shared/store"
	"orgops/shared/syncrun"
	"orgops/shared/timeline"
	"orgops/shared/token"
	"orgops/shared/usagekey/gatewaykeys"
)

// workers is how each step that is none of the operations is set up, and what of it is measured.
func workers() map[string]func(*world) func() {
	return map[string]func(*world) func(){
		"start of a process that verifies tokens": func(w *world) func() { return w.starts(false) },
		"start of a process that signs them":      func(w *world) func() { return w.starts(true) },
		"authorizer: a token":                     (*world).authorizes,

		"projector: a change":                            func(w *world) func() { return w.projects(1) },
		"projector: 10 changes of a company":             func(w *world) func() { return w.projects(10) },
		"projector: a change that the timeline tells of": (*world).projectsTold,

		"dispatcher: an event, delivered to an endpoint":   func(w *world) func() { return w.dispatches(false, 1) },
		"dispatcher: an event, not taken by the endpoint":  func(w *world) func() { return w.dispatches(true, 1) },
		"dispatcher: 10 events of a company, delivered":    func(w *world) func() { return w.dispatches(false, 10) },
		"dispatcher: an event that nobody asked for":       (*world).dispatchesUnasked,
		"dispatcher: a delivery that is on record":         (*world).dispatchesRecord,
		"dispatcher: a delivery that is to be tried again": func(w *world) func() { return w.dispatchesJob(delivery.Entity) },
		"dispatcher: a sync that was requested":            func(w *world) func() { return w.dispatchesJob(syncrun.Entity) },

		"retrier: an attempt, delivered":         func(w *world) func() { return w.retries(false, 10*time.Second) },
		"retrier: an attempt, not taken":         func(w *world) func() { return w.retries(true, 10*time.Second) },
		"retrier: a message that came early":     func(w *world) func() { return w.retries(false, 0) },
		"retrier: a recovery of 10 deliveries":   (*world).recovers,
		"syncer: a run that finds nothing new":   func(w *world) func() { return w.syncs("one", "") },
		"syncer: a page of 50 that is unchanged": func(w *world) func() { return w.syncs("two", "") },
		"syncer: a page of 50 that has changed":  func(w *world) func() { return w.syncs("three", " anew") },

		"ticker: a minute without anything due": func(w *world) func() { return w.ticks(0) },
		"ticker: a minute with a timer due":     func(w *world) func() { return w.ticks(1) },

		"provisioner: a company": (*world).provisions,
		"rotator: a rotation":    (*world).rotates,
	}
}

func (w *world) authorizes() func() {
	s := w.fresh()
	a := &authorizer.Authorizer{Logger: s.Logger, Verify: func(_ context.Context, text string) (token.Claims, error) { return s.Tokens.Verify(text) }}
	return func() {
		_, err := a.Handle(w.t.Context(), authorizer.Request{
			Type: "TOKEN", AuthorizationToken: "Bearer " + w.token, MethodARN: "arn:aws:execute-api:eu-central-1:111122223333:q7x2m9k4vd/live/GET/companies/x",
		})
		must(w.t, err)
	}
}

// stored is an item of the company.
func (w *world) stored(key string) store.Item {
	w.t.Helper()
	item, err := w.tenant().Get(w.t.Context(), key, nil)
	must(w.t, err)
	return item
}

// put creates an item of the company.
func (w *world) put(key, entity string, body any) store.Item {
	w.t.Helper()
	c := w.tenant()
	must(w.t, c.Commit(w.t.Context(), c.Create(key, entity, body)))
	return w.stored(key)
}

// remembered is a new memory of the company.
func (w *world) remembered() store.Item {
	m, _ := memory.Apply(memory.Memory{}, "github", draft(memories+w.next()), w.clock.Now())
	return w.put(memory.Key(m.ID), memory.Entity, m)
}

// next is a number that has not been used.
func (w *world) next() int {
	w.used++
	return w.used
}

// event is what Lambda is sent when items have been created, behind every change before.
func (w *world) event(items ...store.Item) stream.Event {
	var e stream.Event
	for _, item := range items {
		e.Records = append(e.Records, events.DynamoDBEventRecord{Change: events.DynamoDBStreamRecord{
			SequenceNumber: fmt.Sprintf("4%029d", w.next()),
			NewImage: map[string]events.DynamoDBAttributeValue{
				"pk": events.NewStringAttribute("C#" + w.company), "sk": events.NewStringAttribute(item.Key),
				"entity": events.NewStringAttribute(item.Entity), "version": events.NewNumberAttribute(strconv.FormatInt(item.Version, 10)),
				"at": events.NewNumberAttribute(strconv.FormatInt(item.At.UnixMilli(), 10)), "body": events.NewStringAttribute(string(item.Body)),
			},
		}})
	}
	return e
}

// handled hands an event to a reader of the stream, who must finish all of it.
func (w *world) handled(reader func(context.Context, stream.Event) (stream.Answer, error), e stream.Event) func() {
	return func() {
		answer, err := reader(w.t.Context(), e)
		if err != nil || len(answer.BatchItemFailures) > 0 {
			w.t.Fatalf("not handled: %v %v", answer, err)
		}
	}
}

func (w *world) project(items ...store.Item) func() {
	s := w.fresh()
	p := &projector.Projector{Store: s.Store, Logger: s.Logger}
	return w.handled(stream.ByCompany(p.Handle, s.Logger), w.event(items...))
}

func (w *world) memories(n int) (items []store.Item) {
	for range n {
		items = append(items, w.remembered())
	}
	return items
}

func (w *world) projects(n int) func() { return w.project(w.memories(n)...) }

func (w *world) projectsTold() func() {
	g := w.goal(goals + 1)
	return w.project(w.put("GOAL#"+g.ID, "goal", g))
}

func (w *world) dispatch(items ...store.Item) func() {
	s := w.fresh()
	d := dispatcher.New(dispatcher.Deps{
		Store: s.Store, Courier: s.Courier, Retries: s.Retries, Syncs: s.Syncs, Logger: s.Logger, Now: s.Now, Separate: true,
	})
	return w.handled(stream.Run(d.Run, s.Logger), w.event(items...))
}

func (w *world) dispatches(broken bool, n int) func() {
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

// scheduled is a delivery that failed at once and is due again in five seconds.
func (w *world) scheduled() (key string, d delivery.Delivery) {
	d = w.delivery(w.clock.Now())
	d.EventID = id.New()
	d.Attempts[0].State, d.Attempts[0].Status = delivery.Failed, 500
	d.Schedule(w.clock.Now().Add(5*time.Second), true)
	return delivery.Key(d.EventID, d.Endpoint), d
}

func (w *world) dispatchesJob(entity string) func() {
	if entity == delivery.Entity {
		key, d := w.scheduled()
		return w.dispatch(w.put(key, entity, d))
	}
	w.free()
	return w.dispatch(w.stored(syncrun.Key(w.begin())))
}

// message is what Lambda takes for a job from a queue.
func (w *world) message(name string, job any) work.Event {
	w.t.Helper()
	body, err := json.Marshal(job)
	must(w.t, err)
	q := w.queue(name)
	must(w.t, q.Send(w.t.Context(), queue.Message{Body: body, Group: w.company}))
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for {
		received, err := q.Receive(ctx, 1, time.Minute)
		if err != nil || len(received) != 1 {
			w.t.Fatalf("no message of %s: %v", name, err)
		}
		if string(received[0].Body) == string(body) {
			return work.Event{Records: []events.SQSMessage{{MessageId: "one", Body: string(body), ReceiptHandle: received[0].Receipt}}}
		}
	}
}

func (w *world) settled(worker queue.Worker, e work.Event) func() {
	return func() {
		answer, err := work.Each(worker, w.clock.Now)(w.t.Context(), e)
		if err != nil || len(answer.BatchItemFailures) > 0 {
			w.t.Fatalf("not settled: %v %v", answer, err)
		}
	}
}

func (w *world) retrier() queue.Worker {
	s := w.fresh()
	return retrier.New(retrier.Deps{Store: s.Store, Courier: s.Courier, Queue: s.Retries, Logger: s.Logger, Now: s.Now}).Worker()
}

// retries works on a delivery that is due in five seconds, so much later.
func (w *world) retries(broken bool, later time.Duration) func() {
	key, d := w.scheduled()
	w.put(key, delivery.Entity, d)
	run := w.settled(w.retrier(), w.message("retries", delivery.Job{Company: w.company, Delivery: key[len(delivery.Prefix):], Request: d.Requests}))
	return func() {
		w.clock.Advance(later)
		w.fail(broken)
		run()
		w.fail(false)
	}
}

func (w *world) recovers() func() {
	w.clock.Advance(time.Minute)
	since := w.clock.Now()
	for range 10 {
		w.clock.Advance(time.Millisecond)
		d := w.delivery(w.clock.Now())
		d.Hold("disabled")
		w.put(delivery.Key(d.EventID, d.Endpoint), delivery.Entity, d)
	}
	r := recovery.Recovery{ID: id.New(), Provider: "webhook", Since: since, Until: w.clock.Now(), State: recovery.Requested, RequestedAt: w.clock.Now()}
	w.put(recovery.Key(r.ID), recovery.Entity, recovery.Record{Recovery: r})
	return w.settled(w.retrier(), w.message("retries", delivery.Job{Company: w.company, Recovery: r.ID}))
}

// syncs works on a run of the feed that finds this edition under this tag; what it held under tag one is known.
func (w *world) syncs(tag, edition string) func() {
	w.publish("one", "")
	w.sync()()
	w.publish(tag, edition)
	return w.sync()
}

func (w *world) sync() func() {
	w.free()
	run := w.begin()
	s := w.fresh()
	worker := (&syncer.Syncer{
		Store: s.Store, Jobs: s.Syncs, Connectors: s.Connectors, Vault: s.Vault, Engine: s.Engine, Logger: s.Logger, Now: s.Now, Slice: time.Minute,
	}).Worker()
	return w.settled(worker, w.message("syncs", syncrun.Job{Company: w.company, Run: run}))
}

// ticks is a minute after one before it, with so many certifications that have run out.
func (w *world) ticks(due int) func() {
	t := &ticker.Ticker{Store: w.table(mainTable), Logger: w.fresh().Logger, Now: w.clock.Now}
	must(w.t, t.Tick(w.t.Context()))
	c, end := w.tenant(), w.clock.Now().Add(30*time.Second)
	for range due {
		i := integration.Integration{
			Provider: "webhook-ended", Kind: "webhook", State: integration.Certified, Enabled: true, Config: json.RawMessage(`{"url":"https://example.com/"}`),
			Certification: &integration.Certification{PassedAt: w.clock.Now(), ExpiresAt: end, Ports: []integration.Port{integration.EventDeliver}},
		}
		must(w.t, c.Commit(w.t.Context(), c.Create(integration.Key(i.Provider), integration.Entity, i), c.Timer(end, integration.ExpiryTimer, i.Provider+"@1")))
	}
	w.clock.Advance(time.Minute)
	return func() { must(w.t, t.Tick(w.t.Context())) }
}

func (w *world) provisions() func() {
	s := w.fresh()
	p := &provisioner.Provisioner{
		Store: s.Store, Hasher: s.Hasher, Logger: s.Logger, Now: s.Now,
		Plans: gatewaykeys.Open(w.others.Access(), map[string]string{"free": awstest.UsagePlan(w.t, w.others.Access(), "free")}),
	}
	return func() {
		_, err := p.Handle(w.t.Context(), provisioner.Request{Name: "Other", Email: "bob@example.com"})
		must(w.t, err)
	}
}
