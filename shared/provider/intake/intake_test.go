package intake_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// verdict implements an engine that always gives the same verdict. Its zero value returns an error.
type verdict policy.Verdict

func (v verdict) Decide(_ context.Context, _ store.Company, r policy.Request) (policy.Decision, error) {
	if v == "" {
		return policy.Decision{}, errors.New("s3cr3t cause")
	}
	return policy.Decision{ID: "d1", Verdict: policy.Verdict(v), Principal: r.Principal, Action: r.Action, Resource: r.Resource, At: now}, nil
}

// asked implements an engine that keeps the last request.
type asked struct{ last policy.Request }

func (a *asked) Decide(ctx context.Context, company store.Company, r policy.Request) (policy.Decision, error) {
	a.last = r
	return verdict(policy.Permitted).Decide(ctx, company, r)
}

// The engine learns what the action would store, and every field on which its effect depends.
func TestPlanner_Plan_Request(t *testing.T) {
	t.Parallel()
	at := now.Add(-time.Hour)
	changed := upsert("a")
	changed.Memory.Kind, changed.Memory.UpdatedAt = "issue", &at
	progress := due(0.579)
	progress.Goal.UpdatedAt = &at
	note := connector.Action{Port: integration.TimelineNote, Note: &connector.NoteDraft{
		Title: "Moved", Subject: "office", Details: json.RawMessage(`{"a":9007199254740993}`), Once: "o"}}
	tests := []struct {
		action   connector.Action
		resource string
		item     policy.Item
		payload  string
	}{
		{changed, "memory", policy.Item{Provider: "github", ExternalID: "7", Kind: "issue", Title: "a"},
			`{"memory":{"externalId":"7","kind":"issue","title":"a"},"updatedAt":"2026-05-01T11:00:00Z"}`},
		{progress, "goal", policy.Item{Provider: "github", ExternalID: "g", Title: "Ship", State: "open", Percent: 57},
			`{"goal":{"externalId":"g","title":"Ship","progress":0.579,"dueAt":"2026-05-05T16:00:00Z","state":"open"},"updatedAt":"2026-05-01T11:00:00Z"}`},
		{note, "timeline", policy.Item{Provider: "github", Title: "Moved", Subject: "office"},
			`{"title":"Moved","subject":"office","details":"{\"a\":9007199254740993}","once":"o"}`},
	}
	for _, tt := range tests {
		var engine asked
		p := planner(t, &engine)
		p.Integration.Kind = "github"
		_, err := p.Plan(t.Context(), tt.action)
		errtest.Must(t, err)
		want := policy.Request{
			Principal: timeline.Reference{Type: "integration", ID: "github"}, Action: string(tt.action.Port), Item: tt.item,
			Resource: timeline.Reference{Type: tt.resource},
			Context:  policy.Context{Kind: "github", Permissions: []string{"memory.upsert"}, Port: string(tt.action.Port), Enabled: true},
		}
		payload, err := json.Marshal(engine.last.Payload)
		errtest.Must(t, err)
		if string(payload) != tt.payload {
			t.Errorf("payload = %s, want %s", payload, tt.payload)
		}
		engine.last.Payload, engine.last.Resource.ID = nil, ""
		if diff := cmp.Diff(want, engine.last); diff != "" {
			t.Errorf("request differs (-want +got):\n%s", diff)
		}
	}
}

func planner(t *testing.T, e policy.Engine) *intake.Planner {
	t.Helper()
	return &intake.Planner{
		Company: store.For(webtest.OpenStore(t), "a"), Engine: e, Now: now,
		Integration: integration.Integration{Provider: "github", Enabled: true, Permissions: []integration.Port{integration.MemoryUpsert}},
	}
}

func upsert(title string) connector.Action {
	return connector.Action{Port: integration.MemoryUpsert, Memory: &memory.Draft{ExternalID: "7", Title: title}}
}

func due(progress float64) connector.Action {
	at := now.Add(100 * time.Hour)
	return connector.Action{Port: integration.GoalUpdate, Goal: &goal.Draft{ExternalID: "g", Title: "Ship", State: goal.Open, Progress: progress, DueAt: &at}}
}

// Plan turns each action into the writes for the stored state, at most MaxOpsPerAction of them.
func TestPlanner_Plan(t *testing.T) {
	t.Parallel()
	p := planner(t, verdict(policy.Permitted))
	note := connector.Action{Port: integration.TimelineNote, Note: &connector.NoteDraft{Title: "Moved", Subject: "office", Details: json.RawMessage(`{}`)}}
	tests := []struct {
		name     string
		action   connector.Action
		outcome  intake.Outcome
		entities []string
	}{
		{"a memory", upsert("a"), intake.Created, []string{"memory"}},
		{"the same memory", upsert("a"), intake.Unchanged, nil},
		{"another title", upsert("b"), intake.Updated, []string{"memory"}},
		{"a goal with a due date", due(0.1), intake.Created, []string{"goal", "timer"}},
		{"the same goal", due(0.1), intake.Unchanged, nil},
		{"more progress", due(0.2), intake.Updated, []string{"goal", "timer"}},
		{"done", due(1), intake.Updated, []string{"goal"}},
		{"a note", note, intake.Created, []string{"timeline"}},
	}
	for _, tt := range tests {
		got, err := p.Plan(t.Context(), tt.action)
		errtest.Must(t, err)
		if got.Outcome != tt.outcome {
			t.Fatalf("%s: outcome = %s, want %s", tt.name, got.Outcome, tt.outcome)
		}
		if diff := cmp.Diff(tt.entities, entities(got.Ops)); diff != "" {
			t.Fatalf("%s: entities of the ops differ (-want +got):\n%s", tt.name, diff)
		}
		if n := len(got.Ops) + 1; n > intake.MaxOpsPerAction {
			t.Errorf("%s: %d ops with the decision's, want %d at most", tt.name, n, intake.MaxOpsPerAction)
		}
		want := policy.Decision{
			Verdict: policy.Permitted, Principal: timeline.Reference{Type: "integration", ID: "github"}, Action: string(tt.action.Port),
		}
		if diff := cmp.Diff(want, got.Decision, cmpopts.IgnoreFields(want, "ID", "Resource", "At")); diff != "" {
			t.Errorf("%s: decision differs (-want +got):\n%s", tt.name, diff)
		}
		if len(got.Ops) > 0 {
			errtest.Must(t, p.Company.Commit(t.Context(), got.Ops...))
		}
	}
	if _, err := p.Plan(t.Context(), connector.Action{Port: integration.MemoryUpsert}); err == nil {
		t.Error("an action without a draft was planned, want an error")
	}
}

func entities(ops []store.Op) []string {
	var all []string
	for _, op := range ops {
		all = append(all, op.Entity)
	}
	return all
}

// A plan conflicts if another write has changed the state that it was made against.
func TestPlanner_Plan_Conflict(t *testing.T) {
	t.Parallel()
	p := planner(t, verdict(policy.Permitted))
	one, err := p.Plan(t.Context(), upsert("a"))
	errtest.Must(t, err)
	two, err := p.Plan(t.Context(), upsert("b"))
	errtest.Must(t, err)
	errtest.Must(t, p.Company.Commit(t.Context(), one.Ops...))
	if err := p.Company.Commit(t.Context(), two.Ops...); !errors.Is(err, store.ErrConflict) {
		t.Errorf("err = %v, want %v", err, store.ErrConflict)
	}
}

// A denied action writes only a timeline entry.
func TestPlanner_Plan_Refused(t *testing.T) {
	t.Parallel()
	for v, want := range map[verdict]policy.Verdict{verdict(policy.Denied): policy.Denied, "": policy.Denied} {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			got, err := planner(t, v).Plan(t.Context(), upsert("a"))
			errtest.Must(t, err)
			if got.Outcome != intake.Refused {
				t.Fatalf("outcome = %s, want %s", got.Outcome, intake.Refused)
			}
			if diff := cmp.Diff([]string{timeline.Entity}, entities(got.Ops)); diff != "" {
				t.Fatalf("entities of the ops differ (-want +got):\n%s", diff)
			}
			var e timeline.Entry
			errtest.Must(t, json.Unmarshal(got.Ops[0].Body, &e))
			wantEntry := timeline.Entry{At: now, Kind: timeline.PolicyDenied, Subject: timeline.Reference{Type: policy.Entity, ID: got.Decision.ID}}
			if diff := cmp.Diff(wantEntry, e, cmpopts.IgnoreFields(e, "ID", "Title", "Actor")); diff != "" {
				t.Errorf("entry differs (-want +got):\n%s", diff)
			}
			if kept := now.Add(timeline.Kept); !got.Ops[0].Expires.Equal(kept) {
				t.Errorf("entry expires at %v, want %v", got.Ops[0].Expires, kept)
			}
			if got.Decision.Verdict != want {
				t.Errorf("verdict = %s, want %s", got.Decision.Verdict, want)
			}
			if got.Decision.ID == "" {
				t.Error("the decision has no id")
			}
			if reasons := strings.Join(got.Decision.Reasons, ""); strings.Contains(reasons, "s3cr3t") {
				t.Errorf("reasons = %q, want none that show the engine's error", reasons)
			}
		})
	}
}

// Plan returns the context's error instead of recording a denial when the context is cancelled.
func TestPlanner_Plan_Cancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := planner(t, verdict("")).Plan(ctx, upsert("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want %v", err, context.Canceled)
	}
}

func TestPlanner_Plan_DryRun(t *testing.T) {
	t.Parallel()
	p := planner(t, verdict(policy.Permitted))
	for _, dry := range []bool{false, true} {
		p.DryRun = dry
		got, err := p.Plan(t.Context(), upsert("a"))
		errtest.Must(t, err)
		if got.Decision.DryRun != dry {
			t.Errorf("decision's DryRun = %t, want %t", got.Decision.DryRun, dry)
		}
	}
}

// TestPlanner_Plan_Once makes a note once for an integration, and again for another one of its name: that has another sender. A release of
// GitHub is noted once for good, because a sync brings it again.
func TestPlanner_Plan_Once(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][]intake.Outcome{
		"hmac":   {intake.Created, intake.Unchanged, intake.Created, intake.Unchanged, intake.Unchanged},
		"github": {intake.Created, intake.Unchanged, intake.Unchanged, intake.Unchanged, intake.Unchanged},
	} {
		p := planner(t, verdict(policy.Permitted))
		p.Integration.Kind = kind
		var got []intake.Outcome
		for _, p.Integration.Incarnation = range []string{"first", "first", "second", "second", "first"} {
			planned, err := p.Plan(t.Context(), connector.Action{Port: integration.TimelineNote, Note: &connector.NoteDraft{Title: "Deployed", Once: "deploy-1"}})
			errtest.Must(t, err)
			if len(planned.Ops) > 0 {
				errtest.Must(t, p.Company.Commit(t.Context(), planned.Ops...))
			}
			got = append(got, planned.Outcome)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: outcomes differ (-want +got):\n%s", kind, diff)
		}
	}
}

// Planning the same decision again gives its entry the same id, so that it is written once.
func TestPlanner_Plan_EntryID(t *testing.T) {
	t.Parallel()
	p := planner(t, verdict(policy.Denied))
	a, err := p.Plan(t.Context(), upsert("a"))
	errtest.Must(t, err)
	b, err := p.Plan(t.Context(), upsert("a"))
	errtest.Must(t, err)
	if a.Ops[0].Key != b.Ops[0].Key {
		t.Errorf("second key = %s, want the first, %s", b.Ops[0].Key, a.Ops[0].Key)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		action connector.Action
		want   []string
	}{
		{"a memory", upsert("a"), nil},
		{"no title", upsert(""), []string{"/x/title"}},
		{"a goal", due(0.5), nil},
		{"too much progress", due(2), []string{"/x/progress"}},
		{"a note", connector.Action{Note: &connector.NoteDraft{Title: "t"}}, nil},
		{"every problem", connector.Action{Note: &connector.NoteDraft{Title: strings.Repeat("t", 1025), Subject: strings.Repeat("s", 513), Details: json.RawMessage(`[]`)}},
			[]string{"/x/title", "/x/subject", "/x/details"}},
		{"ids that are not valid Unicode", connector.Action{Memory: &memory.Draft{ExternalID: "a\ufffd", Title: "t\ufffd", Goal: "\xff"}}, []string{"/x/externalId", "/x/goal"}},
		{"a goal's id that is not valid Unicode", connector.Action{Goal: &goal.Draft{ExternalID: "\ufffd", Title: "t", State: goal.Open}}, []string{"/x/externalId"}},
		{"a note's subject that is not valid Unicode", connector.Action{Note: &connector.NoteDraft{Title: "t", Subject: "\ufffd", Once: "a"}}, []string{"/x/subject"}},
		{"an id with a NUL", connector.Action{Memory: &memory.Draft{ExternalID: "a\x00b", Title: "t"}}, nil},
		{"unreadable", connector.Action{Memory: &memory.Draft{}, Unreadable: &fault.FieldError{Pointer: "/x/title", Detail: "must be a string"}}, []string{"/x/title"}},
		{"details too long", connector.Action{Note: &connector.NoteDraft{Title: "t", Details: json.RawMessage(`{"a":"` + strings.Repeat("x", 16<<10) + `"}`)}}, []string{"/x/details"}},
	}
	for _, tt := range tests {
		tt.action.At = "/x"
		if diff := cmp.Diff(tt.want, pointers(intake.Problems(tt.action))); diff != "" {
			t.Errorf("%s: pointers differ (-want +got):\n%s", tt.name, diff)
		}
	}
}

func pointers(problems []fault.FieldError) []string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Pointer)
	}
	return all
}

// TestValidate checks that every problem is reported with its place in the arrival, and that the actions are limited.
func TestValidate(t *testing.T) {
	t.Parallel()
	at := func(pointer string, a connector.Action) connector.Action {
		a.At = pointer
		return a
	}
	err := intake.Validate([]connector.Action{at("/issue", upsert("")), at("/milestone", due(0.5)), at("/issue/milestone", due(2))})
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatalf("err = %v, want a fault", err)
	}
	if diff := cmp.Diff([]string{"/issue/title", "/issue/milestone/progress"}, pointers(f.Problems)); diff != "" {
		t.Errorf("pointers differ (-want +got):\n%s", diff)
	}
	if err := intake.Validate(slices.Repeat([]connector.Action{upsert("a")}, connector.MaxActions)); err != nil {
		t.Errorf("the maximum number of actions: %v", err)
	}
	if err := intake.Validate(slices.Repeat([]connector.Action{upsert("a")}, connector.MaxActions+1)); fault.KindOf(err) != fault.Invalid {
		t.Errorf("one action too many: err = %v, want invalid", err)
	}
}

func TestReview(t *testing.T) {
	t.Parallel()
	at := now.Add(100 * time.Hour)
	open := goal.Goal{ID: "g", State: goal.Open, CreatedAt: now, DueAt: &at, Progress: 0.4}
	var keys []string
	for version := range int64(2) {
		ops := intake.Review(store.For(nil, "a"), open, version+1, now)
		if len(ops) != 1 {
			t.Fatalf("version %d: ops = %+v, want one", version+1, ops)
		}
		if !ops[0].Quiet {
			t.Errorf("version %d: op %+v is not quiet", version+1, ops[0])
		}
		keys = append(keys, ops[0].Key)
	}
	if keys[0] == keys[1] {
		t.Errorf("both versions have the key %s, want two keys", keys[0])
	}
	open.State = goal.Closed
	if ops := intake.Review(store.For(nil, "a"), open, 3, now); len(ops) != 0 {
		t.Errorf("a closed goal gets a review timer: %+v", ops)
	}
}

// Only http and https URLs are kept as links.
func TestPlanner_Plan_Links(t *testing.T) {
	t.Parallel()
	p := planner(t, verdict(policy.Permitted))
	for raw, want := range map[string]string{
		"https://example.com/7": "https://example.com/7", "http://example.com": "http://example.com",
		"javascript:alert(1)": "", "data:text/html,x": "", "//example.com": "", "https:": "", "%zz": "", "": "",
	} {
		for _, a := range []connector.Action{
			{Port: integration.MemoryUpsert, Memory: &memory.Draft{ExternalID: raw, Title: "a", URL: raw}},
			{Port: integration.GoalUpdate, Goal: &goal.Draft{ExternalID: raw, Title: "a", State: goal.Open, URL: raw}},
		} {
			planned, err := p.Plan(t.Context(), a)
			errtest.Must(t, err)
			var body struct{ URL string }
			errtest.Must(t, json.Unmarshal(planned.Ops[0].Body, &body))
			if body.URL != want {
				t.Errorf("%s: %q became %q, want %q", a.Port, raw, body.URL, want)
			}
		}
	}
}

// A time of change in the future orders nothing: what the provider says later counts.
func TestPlanner_Plan_Future(t *testing.T) {
	t.Parallel()
	p := planner(t, verdict(policy.Permitted))
	p.Integration.Permissions = append(p.Integration.Permissions, integration.GoalUpdate)
	plan := func(title string, at time.Time) {
		t.Helper()
		m, g := upsert(title), due(0.5)
		m.Memory.UpdatedAt, g.Goal.UpdatedAt, g.Goal.Title = &at, &at, title
		for _, a := range []connector.Action{m, g} {
			planned, err := p.Plan(t.Context(), a)
			errtest.Must(t, err)
			if !planned.Acts() {
				t.Errorf("%s %q of %s is %s, want an effect", a.Port, title, at, planned.Outcome)
			}
			errtest.Must(t, p.Company.Commit(t.Context(), planned.Ops...))
		}
	}
	plan("mistyped", time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC))
	plan("corrected", now.Add(-time.Hour))
	plan("ahead", now.Add(maxAhead))
}

// maxAhead is how far a provider's clock may be ahead.
const maxAhead = 5 * time.Minute
