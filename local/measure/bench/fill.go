package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"orgops/local/process"
	"orgops/shared/base/id"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
)

// filling writes items of a company straight into the data folder of a service that does not run.
type filling struct {
	company store.Company
	now     time.Time
	n       int // items in all
}

// goalsFilled limits the goals, of which a company has few however much it does. The last day of every company holds as many
// items, at least a page of each kind: so companies of different sizes differ in their past alone.
const (
	goalsFilled = 100
	lastDay     = 600
)

// fill writes n items as a company has them after a month: of 20 items 8 are memories, 5 deliveries, 4 decisions, and one each
// an entry of the timeline, an audit record and a sync run. The writes stay out of the change feed, so the caller rebuilds the
// context. Many commits wait at once, so the writer stores them in one synced transaction: that is the way to store in bulk.
func (s *service) fill(ctx context.Context, company string, n int) error {
	data, err := process.OpenEmbedded(ctx, filepath.Join(s.folder, "data"), false, time.Now)
	if err != nil {
		return err
	}
	defer func() { _ = data.Close() }()
	f := filling{company: store.For(data.Store, company), now: time.Now().UTC(), n: n}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	firsts := make(chan int)
	var working sync.WaitGroup
	for range fillers {
		working.Go(func() {
			for first := range firsts {
				if err := f.commit(ctx, first); err != nil {
					stop(err)
				}
			}
		})
	}
	for first := 0; first < n && ctx.Err() == nil; first += store.MaxOps {
		firsts <- first
	}
	close(firsts)
	working.Wait()
	return context.Cause(ctx)
}

// fillers is how many commits wait at once.
const fillers = 32

// commit writes the items of one commit.
func (f filling) commit(ctx context.Context, first int) error {
	var ops []store.Op
	for i := first; i < min(first+store.MaxOps, f.n); i++ {
		ops = append(ops, f.item(i).Quietly())
	}
	return f.company.Commit(ctx, ops...)
}

// at spreads the items over 29 days, because deliveries are kept for 30, and the last ones over the last day.
func (f filling) at(i int) time.Time {
	past, day := f.n-lastDay, 24*time.Hour
	ago := time.Duration(float64(day) * float64(f.n-i) / float64(lastDay+1))
	if i < past {
		ago = day + time.Duration(float64(28*day)*float64(past-i)/float64(past))
	}
	return f.now.Add(-time.Minute - ago).Truncate(time.Millisecond)
}

func (f filling) item(i int) store.Op {
	kind := i % 20
	if i >= f.n-lastDay {
		kind = []int{0, 8, 13, 17, 18, 19, approvals}[i%7]
	}
	switch {
	case i < goalsFilled:
		return f.goal(i)
	case kind == approvals:
		return f.approval(i)
	case kind < 8:
		return f.memory(i)
	case kind < 13:
		return f.delivery(i)
	case kind < 17:
		return policy.Create(f.company, f.decision(i))
	case kind == 17:
		return f.entry(i)
	case kind == 18:
		at := f.at(i)
		return audit.Write(f.company, audit.Record{
			At: at, Operation: "sync-memory", Resource: "memory/sync/feed", Outcome: "success", RequestID: id.At(at, "request", fmt.Sprint(i)),
		}, 0)
	}
	return f.run(i)
}

// approvals marks the kind of item that only the last day holds.
const approvals = 20

func (f filling) goal(i int) store.Op {
	due, began := f.now.AddDate(0, 0, 30), f.now.AddDate(0, 0, -30)
	state := goal.Closed
	if i%4 == 0 {
		state = goal.Open
	}
	g, _ := goal.Apply(goal.Goal{}, "github", goal.Draft{
		ExternalID: fmt.Sprint("octo/app/milestones/", i), Title: fmt.Sprint("Reach milestone ", i), Progress: 0.6, DueAt: &due, StartedAt: &began, State: state,
	}, f.now)
	return f.company.Create(goal.Key(g.ID), goal.Entity, g)
}

func (f filling) memory(i int) store.Op {
	m, _ := memory.Apply(memory.Memory{}, "webhook", memory.Draft{
		ExternalID: fmt.Sprint("t-", i), Kind: "ticket", Title: fmt.Sprint("Ticket ", i), Body: filler, URL: fmt.Sprint("https://example.com/tickets/", i),
	}, f.at(i))
	return f.company.Create(memory.Key(m.ID), memory.Entity, m)
}

func (f filling) delivery(i int) store.Op {
	at := f.at(i)
	d := delivery.Delivery{
		Head: delivery.Head{
			EventID: id.At(at, "event", fmt.Sprint(i)), Endpoint: "webhook", Event: "memory.created", CreatedAt: at,
		},
		Payload: json.RawMessage(fmt.Sprintf(`{"type":"memory.created","data":{"title":"Ticket %d"}}`, i)),
	}
	d.Log(delivery.Attempt{Number: 1, State: delivery.Delivered, At: at, Status: 204, LatencyMS: 90})
	d.End(delivery.Delivered)
	if i >= f.n-lastDay && i%70 == 1 { // a company replays what is older
		d.End(delivery.Dead)
	}
	return d.Save(f.company, 0)
}

func (f filling) decision(i int) policy.Decision {
	at := f.at(i)
	return policy.Decision{
		ID: id.At(at, "decision", fmt.Sprint(i)), Verdict: policy.Permitted, Principal: timeline.Reference{Type: "integration", ID: "webhook"},
		Action: "memory.upsert", Resource: timeline.Reference{Type: "memory", ID: id.Of(fmt.Sprint(i))}, Policies: []string{"permit-connector-actions"},
		Reasons: []string{"the action is within the permissions of the integration"}, At: at,
	}
}

func (f filling) entry(i int) store.Op {
	at := f.at(i)
	e := timeline.Entry{
		ID: id.At(at, "entry", fmt.Sprint(i)), At: at, Kind: timeline.MemorySynced, Title: fmt.Sprintf("feed synced: %d new, %d changed, 0 gone", i%7, i%5),
		Actor: timeline.Reference{Type: "integration", ID: "feed"}, Subject: timeline.Reference{Type: "sync", ID: id.At(at, "run", fmt.Sprint(i))},
		Details: json.RawMessage(`{"provider":"feed","state":"succeeded"}`),
	}
	return e.Create(f.company)
}

func (f filling) run(i int) store.Op {
	at := f.at(i)
	r := syncrun.StoredRun{Run: syncrun.Run{
		ID: id.At(at, "run", fmt.Sprint(i)), Provider: "feed", Mode: syncrun.Live, State: syncrun.Succeeded, RequestedAt: at, StartedAt: &at, FinishedAt: &at,
		Progress: syncrun.Progress{Pages: 1, Fetched: 50, Created: 3, Updated: 2, Unchanged: 45},
	}}
	return f.company.Create(syncrun.Key(r.ID), syncrun.Entity, r).Until(at.Add(syncrun.Kept))
}

func (f filling) approval(i int) store.Op {
	a := approval.New(f.decision(i), json.RawMessage(`{"title":"Ship"}`), "Ship", timeline.Reference{Type: "integration", ID: "github"})
	a.State, a.Answer = approval.Rejected, &approval.Answer{At: a.RequestedAt, By: timeline.Reference{Type: "user", ID: id.Of("ada")}}
	return f.company.Create(approval.Key(a.ID), approval.Entity, a).Until(a.RequestedAt.Add(approval.Kept))
}
