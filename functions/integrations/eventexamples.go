package integrations

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// Ids and times of the examples.
const (
	exampleCompany = "0198c5f2-7a00-7000-8000-000000000001"
	exampleUser    = "0198c5f2-7a00-7000-8000-00000000000a"
	exampleItem    = "3f0a7c1e-58d2-8a64-9d0b-0c8a1f6e2b47"
	exampleRecord  = "019c8a5c-6f00-7a31-8f2e-1b9d5c3a7e40"
)

// exampleTime returns the time of the examples.
func exampleTime() time.Time { return time.Date(2026, 2, 23, 12, 0, 0, 0, time.UTC) }

// exampleEvents returns an example of each event, in its newest version. The first call computes them.
var exampleEvents = sync.OnceValues(makeExamples) //nolint:gochecknoglobals // a constant that takes time to make

// makeExamples returns an example of each event, as the changes below cause them.
func makeExamples() (map[string]event.Event, error) {
	all := map[string]event.Event{}
	for _, c := range exampleChanges() {
		events, err := event.Of(c)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			all[e.Type] = e
		}
	}
	for _, name := range event.Names() {
		if all[name].ID == "" {
			return nil, fmt.Errorf("no example of %s: give exampleChanges a change that causes it", name)
		}
	}
	return all, nil
}

// exampleChange returns the change of an item. A nil before stands for a new item.
func exampleChange(entity, key string, before, after any) store.Change {
	c := store.Change{Sequence: "1", Company: exampleCompany, Key: key, Entity: entity, At: exampleTime()}
	image := func(version int64, of any) *store.Image {
		body, err := json.Marshal(of)
		if err != nil { // cannot happen: the types have been stored before
			panic(err)
		}
		return &store.Image{Version: version, Body: body}
	}
	if before != nil {
		c.Old = image(1, before)
	}
	c.New = image(2, after)
	return c
}

// exampleChanges lists changes that cause every event between them.
func exampleChanges() []store.Change {
	at := exampleTime()
	m, titled := exampleMemory(), exampleMemory()
	titled.Title, titled.UpdatedAt = "Login fails on Safari and Firefox", at
	g, behind := exampleGoal(), exampleGoal()
	behind.Progress, behind.Alignment, behind.UpdatedAt = 0.2, goal.Alignment{Status: goal.Drifting, Score: 0.6, Reasons: []string{"progress is behind the time used"}}, at
	run := syncrun.StoredRun{Run: syncrun.Run{ID: exampleRecord, Provider: "github", Mode: syncrun.Live, State: syncrun.Running, RequestedAt: at}}
	done, failed := run, run
	done.State, done.FinishedAt, done.Progress = syncrun.Succeeded, &at, syncrun.Progress{Pages: 1, Fetched: 3, Created: 3}
	failed.State, failed.FinishedAt, failed.Error = syncrun.Failed, &at, "the provider answers 503"
	entry := timeline.Entry{
		ID: exampleRecord, At: at, Kind: timeline.GoalUpdated, Title: "Goal Ship the beta was updated",
		Actor: timeline.Reference{Type: "integration", ID: "github"}, Subject: timeline.Reference{Type: "goal", ID: exampleItem},
	}
	all := []store.Change{
		exampleChange(memory.Entity, memory.Key(m.ID), nil, m), exampleChange(memory.Entity, memory.Key(m.ID), m, titled),
		exampleChange(goal.Entity, goal.Key(g.ID), g, behind), exampleChange(syncrun.Entity, syncrun.Key(run.ID), run, failed),
		exampleChange(syncrun.Entity, syncrun.Key(run.ID), run, done), exampleChange(timeline.Entity, timeline.Key(entry.ID), nil, entry),
	}
	return append(all, exampleOperations()...)
}

func exampleMemory() memory.Memory {
	at := exampleTime().Add(-time.Hour)
	return memory.Memory{
		ID: exampleItem, Provider: "github", ExternalID: "octo/app/issues/7", Kind: "issue", Title: "Login fails on Safari",
		URL: "https://github.com/octo/app/issues/7", ContentHash: "RultgcKdP2HSt33qFlwwlDjpT48eqnRGFxH-2etK5WM", CreatedAt: at, UpdatedAt: at,
	}
}

func exampleGoal() goal.Goal {
	at := exampleTime().Add(-time.Hour)
	due := exampleTime().AddDate(0, 0, 30)
	return goal.Goal{
		ID: exampleItem, Provider: "github", ExternalID: "octo/app/milestones/3", Title: "Ship the beta", Progress: 0.4, DueAt: &due, State: goal.Open,
		Alignment: goal.Alignment{Status: goal.Aligned, Score: 1, Reasons: []string{}}, CreatedAt: at, UpdatedAt: at,
	}
}

// exampleOperations lists changes that cause the operational events.
func exampleOperations() []store.Change {
	at := exampleTime()
	is := user.User{ID: exampleUser, Email: "ada@example.com", Name: "Ada Lovelace", Role: user.Member, State: user.Invited, CreatedAt: at}
	joined, left := is, is
	joined.State, left.State = user.Active, user.Disabled
	record := audit.Record{
		ID: exampleRecord, At: at, Actor: audit.Actor{UserID: exampleUser, Role: "founder", TokenID: exampleItem}, Operation: "invite-user",
		Resource: "operations/users/" + exampleUser, Outcome: "success", RequestID: exampleItem, Network: "203.0.113.0/24",
	}
	agent := timeline.Reference{Type: executive.Entity, ID: exampleItem}
	decision := policy.Decision{
		ID: exampleRecord, At: at, Verdict: policy.Permitted, Principal: agent, Action: string(executive.TimelineNote), Policies: []string{"executives"}, Reasons: []string{},
	}
	acted := executive.ActionRecord{
		ID: exampleRecord, Executive: agent, Action: executive.TimelineNote, Input: json.RawMessage(`{"title":"The feed has been quiet for a week"}`),
		State: executive.Done, Decision: decision, Effect: &executive.Effect{Summary: "notes on the timeline: The feed has been quiet for a week"}, At: at,
	}
	dead := delivery.Delivery{
		Head:     delivery.Head{EventID: exampleRecord, Event: event.MemoryUpdated, CreatedAt: at.Add(-72 * time.Hour), Endpoint: "webhook-billing", Made: 10, State: delivery.Dead},
		Attempts: []delivery.Attempt{{Number: 10, State: delivery.Failed, At: at, Status: 503, Error: "the endpoint answered 503"}},
	}
	paused := dead
	paused.State, paused.Turned = delivery.Scheduled, &delivery.Turn{Paused: true, Since: at, Until: at.Add(30 * time.Second)}
	changes := []store.Change{
		exampleChange(user.Entity, user.Key(is.ID), is, joined), exampleChange(user.Entity, user.Key(is.ID), joined, left),
		exampleChange(audit.Entity, audit.Key(record.ID), nil, record),
		exampleChange(executive.RecordEntity, executive.RecordPrefix(agent.ID)+acted.ID, nil, acted),
		exampleChange(delivery.Entity, delivery.Key(dead.EventID, dead.Endpoint), nil, dead),
		exampleChange(delivery.Entity, delivery.Key(dead.EventID, dead.Endpoint), nil, paused),
	}
	advice := recommendation.Told{
		ID: exampleItem, Rule: "certify-integration", Title: "Certify webhook-billing", Rationale: "webhook-billing is in the sandbox. Until it is certified, deliveries to it are held.",
		Priority: recommendation.P2, State: recommendation.Active, Subject: timeline.Reference{Type: integration.Entity, ID: "webhook-billing"}, FirstSeenAt: at, At: at,
	}
	over := advice
	over.State = recommendation.Succeeded
	key := recommendation.ToldKey(advice.ID)
	changes = append(changes, exampleChange(recommendation.ToldEntity, key, nil, advice), exampleChange(recommendation.ToldEntity, key, advice, over))
	return append(append(changes, exampleApprovals()...), exampleIntegrations()...)
}

func exampleApprovals() []store.Change {
	at := exampleTime()
	github := timeline.Reference{Type: integration.Entity, ID: "github"}
	waits := approval.New(policy.Decision{
		ID: exampleItem, At: at, ActionDigest: "RultgcKdP2HSt33qFlwwlDjpT48eqnRGFxH-2etK5WM", Principal: github, Action: "goal.update",
		Resource: timeline.Reference{Type: goal.Entity, ID: exampleItem}, Policies: []string{"closing"}, Reasons: []string{"closing a goal needs an approval"},
	}, json.RawMessage(`{"externalId":"octo/app/milestones/3","title":"Ship the beta","state":"closed"}`), "Ship the beta", github)
	warned, late := waits, at.Add(approval.Waits-approval.Warns)
	warned.WarnedAt = &late
	given := waits.End(approval.Approved, approval.Answer{At: at, By: timeline.Reference{Type: user.Entity, ID: exampleUser}, Verdict: policy.Permitted, Outcome: "updated"})
	key := approval.Key(waits.ID)
	return []store.Change{
		exampleChange(approval.Entity, key, nil, waits), exampleChange(approval.Entity, key, waits, warned), exampleChange(approval.Entity, key, waits, given),
	}
}

func exampleIntegrations() []store.Change {
	at := exampleTime()
	sandboxed := integration.Integration{
		Provider: "webhook-billing", Kind: "webhook", State: integration.Sandbox, Enabled: true, Permissions: []integration.Port{integration.EventDeliver},
		SandboxedCause: integration.SandboxedByChange, CreatedAt: at, UpdatedAt: at,
	}
	certified, warned := sandboxed, sandboxed
	passed := integration.Certification{PassedAt: at, ExpiresAt: at.Add(integration.CertifiedFor), Ports: sandboxed.Permissions}
	marked := passed
	marked.WarnedAt = &at
	certified.State, certified.Certification, certified.SandboxedCause = integration.Certified, &passed, ""
	warned.State, warned.Certification = integration.Certified, &marked
	disabled := certified
	disabled.Disable(integration.DisabledFailing, at)
	key := integration.Key(sandboxed.Provider)
	return []store.Change{
		exampleChange(integration.Entity, key, sandboxed, certified), exampleChange(integration.Entity, key, certified, sandboxed),
		exampleChange(integration.Entity, key, certified, warned), exampleChange(integration.Entity, key, certified, disabled),
		exampleChange(integration.Entity, key, disabled, certified),
	}
}
