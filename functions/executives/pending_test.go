package executives_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/operations"
	"orgops/shared/base/id"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/insight/projection"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// askFirst makes every action of an executive need an approval. frozen forbids them.
const (
	askFirst = `@approval("a person must agree") forbid (principal is Executive, action, resource) unless { context.approval == context.digest };`
	frozen   = `forbid (principal is Executive, action, resource);`
)

// govern replaces the company's policies.
func (s *service) govern(texts ...string) {
	s.t.Helper()
	set := []map[string]any{}
	for n, text := range texts {
		set = append(set, map[string]any{"id": string(rune('a' + n)), "mode": "enforce", "text": text})
	}
	s.Do("PUT", "/companies/"+s.A.ID+"/operations/policies", s.A.Token, map[string]any{"policies": set}, "If-Match", "*").Want(200)
}

// decide answers an approval as another founder than the one whose token asks.
func (s *service) decide(approvalID, how string) *webtest.Response {
	s.t.Helper()
	return s.decideAs(s.UserToken(s.A.ID, "another-founder", user.Founder), approvalID, how)
}

func (s *service) decideAs(token, approvalID, how string) *webtest.Response {
	s.t.Helper()
	return s.Do("POST", "/companies/"+s.A.ID+"/operations/approvals/"+approvalID+"/"+how, token, nil)
}

// asks asks for an action that needs an approval.
func (s *service) asks(path, key string, a executive.Action, input map[string]any) executive.ActionRecord {
	s.t.Helper()
	var r executive.ActionRecord
	s.asked(path, key, a, input).Want(202).JSON(&r)
	if r.State != executive.Pending {
		s.t.Fatalf("state = %s, want pending: %+v", r.State, r)
	}
	return r
}

// record reads an action.
func (s *service) record(path, id string) executive.ActionRecord {
	s.t.Helper()
	var r executive.ActionRecord
	s.do("GET", path+"/"+id, nil).Want(200).JSON(&r)
	return r
}

func (s *service) wantState(path, id string, want executive.Progress) {
	s.t.Helper()
	if got := s.record(path, id); got.State != want {
		s.t.Errorf("state = %s, want %s: %+v", got.State, want, got)
	}
}

// waiting sets up a certified executive of all actions whose actions need an approval, and a pending action.
func waiting(t *testing.T, action executive.Action, input map[string]any) (s *service, path string, r executive.ActionRecord) {
	t.Helper()
	s = setup(t)
	s.sources()
	s.govern(askFirst)
	d := s.draft(executive.Actions()...)
	d.Owner = "third-founder"
	path = s.certified(d)
	return s, path, s.asks(path, "a", action, input)
}

func disableFeed() map[string]any { return map[string]any{"provider": "feed"} }

// Every action can be pending. It takes effect once, when another user approves it.
func TestPending_Approve(t *testing.T) {
	t.Parallel()
	for _, tt := range acts() {
		t.Run(string(tt.action), func(t *testing.T) {
			t.Parallel()
			s, path, r := waiting(t, tt.action, tt.input)
			wantRecord(t, r, executive.Pending, policy.NeedsApproval, tt.subject)
			none := effects{FeedEnabled: true, Timeline: []timeline.Kind{}}
			if diff := cmp.Diff(none, s.effects()); diff != "" {
				t.Errorf("effects before the approval (-want +got):\n%s", diff)
			}
			s.decideAs(s.A.Token, r.ApprovalID, "approve").WantProblem(403, "forbidden") // the one who asked
			var got operations.ApprovedAction
			s.decide(r.ApprovalID, "approve").Want(200).JSON(&got)
			want := []string{r.ID, executive.IDOf("Chief of Staff"), "Chief of Staff", s.A.UserID, "updated"}
			is := []string{got.ActionID, got.Principal.ID, got.PrincipalName, got.RequestedBy.ID, got.Answer.Outcome}
			if diff := cmp.Diff(want, is); diff != "" {
				t.Errorf("action, principal, its name, requester and outcome (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, s.effects()); diff != "" {
				t.Errorf("effects differ (-want +got):\n%s", diff)
			}
			done := s.record(path, r.ID)
			wantRecord(t, done, executive.Done, policy.Permitted, tt.subject)
			if done.Decision.ID != got.Decision.ID {
				t.Errorf("decision = %s, want that of the approval, %s", done.Decision.ID, got.Decision.ID)
			}
			if n := len(s.decisions()); n != 2 {
				t.Errorf("%d decisions, want 2", n)
			}
			for _, how := range []string{"approve", "reject"} {
				s.decide(r.ApprovalID, how).WantProblem(409, "approval-decided")
			}
			if diff := cmp.Diff(tt.want, s.effects()); diff != "" {
				t.Errorf("effects of a second answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPending_ThirdParty names the executive alone when a founder tries it through an application, before and after the approval.
func TestPending_ThirdParty(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.sources()
	s.govern(askFirst)
	path := s.certified(s.draft(executive.IntegrationDisable))
	bearer, err := s.Signer.Issue(token.Claims{
		Subject: s.A.UserID, Company: s.A.ID, Role: string(user.Founder), Scopes: user.Founder.Scopes(), Client: id.New(), Expires: s.clock.Now().Add(time.Hour),
	})
	errtest.Must(t, err)
	var r executive.ActionRecord
	body := map[string]any{"action": executive.IntegrationDisable, "input": disableFeed()}
	s.Do("POST", s.at(path), bearer, body, "Idempotency-Key", "a").Want(202).JSON(&r)
	s.decide(r.ApprovalID, "approve").Want(200)
	done := s.record(path, r.ID)
	for _, got := range []executive.ActionRecord{r, done} {
		if got.ClientID != "" {
			t.Errorf("%s: client %q, want none", got.State, got.ClientID)
		}
		if behalf := got.Decision.OnBehalfOf; behalf != nil {
			t.Errorf("%s: on behalf of %v, want of no one", got.State, behalf)
		}
	}
}

// The approval records who approved. The record is in the transaction of the effect.
func TestPending_Audit(t *testing.T) {
	t.Parallel()
	s, _, r := waiting(t, executive.TimelineNote, map[string]any{"title": "Moved"})
	s.decide(r.ApprovalID, "approve").Want(200)
	var last audit.Record
	for _, a := range all[audit.Record](s, audit.Prefix) {
		if a.Operation == "approve-action" {
			last = a
		}
	}
	if diff := cmp.Diff([]string{"another-founder", "success"}, []string{last.Actor.UserID, last.Outcome}); diff != "" {
		t.Errorf("who and outcome (-want +got):\n%s", diff)
	}
}

func TestPending_Reject(t *testing.T) {
	t.Parallel()
	s, path, r := waiting(t, executive.IntegrationDisable, disableFeed())
	s.decideAs(s.A.Token, r.ApprovalID, "reject").WantProblem(403, "forbidden")
	s.decide(r.ApprovalID, "reject").Want(200)
	s.wantState(path, r.ID, executive.Rejected)
	s.asked(path, "a", executive.IntegrationDisable, disableFeed()).Want(202) // a repeat shows what became of it
	refused := s.asked(path, "b", executive.IntegrationDisable, disableFeed()).WantProblem(403, "denied-by-policy")
	if refused.Decision == "" {
		t.Error("the problem has no decision, want one")
	}
	want := effects{FeedEnabled: true, Timeline: []timeline.Kind{timeline.PolicyDenied}}
	if diff := cmp.Diff(want, s.effects()); diff != "" {
		t.Errorf("effects differ (-want +got):\n%s", diff)
	}
	s.clock.Advance(approval.Waits)
	if again := s.asks(path, "c", executive.IntegrationDisable, disableFeed()); again.ApprovalID == r.ApprovalID {
		t.Errorf("a day later the rejected approval %s stands, want another one", r.ApprovalID)
	}
}

// An action that no user decides about expires: at once in what the API shows, and stored by the timer.
func TestPending_Expire(t *testing.T) {
	t.Parallel()
	s, path, r := waiting(t, executive.IntegrationDisable, disableFeed())
	s.clock.Advance(approval.Waits - time.Second)
	s.wantState(path, r.ID, executive.Pending)
	s.clock.Advance(time.Second)
	s.wantState(path, r.ID, executive.Expired)
	s.decide(r.ApprovalID, "approve").WantProblem(409, "approval-decided")
	ops, err := approval.Expire(t.Context(), s.company(), r.ApprovalID, s.clock.Now()) // as the ticker does
	errtest.Must(t, err)
	errtest.Must(t, s.company().Commit(t.Context(), ops...))
	stored, err := executive.FindRecord(t.Context(), s.company(), r.Executive.ID, r.ID)
	errtest.Must(t, err)
	if diff := cmp.Diff(s.record(path, r.ID), stored); diff != "" {
		t.Errorf("stored action differs from what was shown (-shown +stored):\n%s", diff)
	}
	var page struct{ Items []executive.ActionRecord }
	s.do("GET", path+"?state=expired", nil).Want(200).JSON(&page)
	if len(page.Items) != 1 {
		t.Errorf("expired actions = %+v, want one", page.Items)
	}
	s.asks(path, "b", executive.IntegrationDisable, disableFeed())
}

// An approval is used, and its action denied, if the policies at that time deny it.
func TestPending_Denied(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*service){
		"another forbid": func(s *service) { s.govern(askFirst, frozen) },
		"a disabled owner": func(s *service) {
			var u user.User
			item, err := s.company().Get(t.Context(), user.Key("third-founder"), &u)
			errtest.Must(t, err)
			u.State = user.Disabled
			errtest.Must(t, s.company().Commit(t.Context(), s.company().Replace(user.Key("third-founder"), user.Entity, item.Version, u)))
		},
		"a deleted executive": func(s *service) { s.do("DELETE", "/"+executive.IDOf("Chief of Staff"), nil).Want(204) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path, r := waiting(t, executive.IntegrationDisable, disableFeed())
			change(s)
			var got operations.ApprovedAction
			s.decide(r.ApprovalID, "approve").Want(200).JSON(&got)
			if diff := cmp.Diff([]string{"denied", "refused"}, []string{string(got.Decision.Verdict), got.Answer.Outcome}); diff != "" {
				t.Errorf("verdict and outcome (-want +got):\n%s", diff)
			}
			s.wantState(path, r.ID, executive.Denied)
			want := effects{FeedEnabled: true, Timeline: []timeline.Kind{timeline.PolicyDenied}}
			if diff := cmp.Diff(want, s.effects()); diff != "" {
				t.Errorf("effects differ (-want +got):\n%s", diff)
			}
			s.decide(r.ApprovalID, "approve").WantProblem(409, "approval-decided")
		})
	}
}

// An action that cannot be carried out now keeps waiting.
func TestPending_Impossible(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*service){
		"a changed executive": func(s *service) {
			d := s.draft(executive.IntegrationDisable)
			s.do("POST", "", d).Want(200)
		},
		"a deleted integration": func(s *service) {
			c := s.company()
			errtest.Must(t, c.Commit(t.Context(), c.Delete(integration.Key("feed"), integration.Entity, 1)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path, r := waiting(t, executive.IntegrationDisable, disableFeed())
			change(s)
			s.decide(r.ApprovalID, "approve").WantProblem(409, "conflict")
			s.wantState(path, r.ID, executive.Pending)
			s.decide(r.ApprovalID, "reject").Want(200)
			s.wantState(path, r.ID, executive.Rejected)
		})
	}
}

// The same action with another key is the action that waits. Another input is another action.
func TestPending_Same(t *testing.T) {
	t.Parallel()
	s, path, r := waiting(t, executive.IntegrationDisable, disableFeed())
	if diff := cmp.Diff(r, s.asks(path, "b", executive.IntegrationDisable, disableFeed())); diff != "" {
		t.Errorf("the same action differs (-first +second):\n%s", diff)
	}
	other := s.asks(path, "c", executive.IntegrationDisable, map[string]any{"provider": "webhook"})
	if other.ApprovalID == r.ApprovalID {
		t.Errorf("two actions have the approval %s, want one each", r.ApprovalID)
	}
	s.decide(r.ApprovalID, "approve").Want(200)
	s.wantState(path, r.ID, executive.Done)
	s.wantState(path, other.ID, executive.Pending)
}

// TestPending_Replaced asks for an approval of its own after what the action is about, or the executive, was deleted and made again under
// the same name. The approval that was asked for before carries nothing out, and its rejection refuses nothing.
func TestPending_Replaced(t *testing.T) {
	t.Parallel()
	again := func(s *service) {
		c := s.company()
		i, version, err := integration.Load(t.Context(), c, "feed")
		errtest.Must(t, err)
		i.Incarnation, i.CreatedAt = id.New(), s.clock.Now()
		p, projected, err := projection.Load(t.Context(), c)
		errtest.Must(t, err)
		p.Integrations["feed"] = projection.Integration{State: integration.Sandbox, Enabled: true, SandboxedAt: i.CreatedAt, CreatedAt: i.CreatedAt}
		errtest.Must(t, c.Commit(t.Context(), projection.Save(c, projected, p), c.Save(integration.Key("feed"), integration.Entity, version, i)))
	}
	certify := recommendation.ID("certify-integration", timeline.Reference{Type: integration.Entity, ID: "feed"})
	dismissal := map[string]any{"recommendationId": certify, "reason": "planned", "text": "We certify it in May."}
	for name, tt := range map[string]struct {
		action  executive.Action
		input   map[string]any
		replace func(s *service)
	}{
		"an integration":                     {executive.IntegrationDisable, disableFeed(), again},
		"an integration of a recommendation": {executive.RecommendationDismiss, dismissal, again},
		"the executive": {executive.TimelineNote, map[string]any{"title": "Moved"}, func(s *service) {
			s.do("DELETE", "/"+executive.IDOf("Chief of Staff"), nil).Want(204)
			d := s.draft(executive.Actions()...)
			d.Owner = "third-founder"
			s.certified(d)
		}},
	} {
		for _, rejected := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, rejected %t", name, rejected), func(t *testing.T) {
				t.Parallel()
				s := setup(t)
				s.sources()
				again(s)
				s.govern(askFirst)
				d := s.draft(executive.Actions()...)
				d.Owner = "third-founder"
				path := s.certified(d)
				former := s.asks(path, "a", tt.action, tt.input)
				if rejected {
					s.decide(former.ApprovalID, "reject").Want(200)
				}
				s.clock.Advance(time.Second)
				tt.replace(s)
				if !rejected {
					s.decide(former.ApprovalID, "approve").WantProblem(409, "conflict")
				}
				own := s.asks(path, "b", tt.action, tt.input)
				if own.ApprovalID == former.ApprovalID {
					t.Fatalf("the approval of the former one, %s, stands for what has its name now", own.ApprovalID)
				}
				s.decide(own.ApprovalID, "approve").Want(200)
				s.wantState(path, own.ID, executive.Done)
			})
		}
	}
}

// In the sandbox the answer shows that an approval would be needed, and the effect. Nothing waits.
func TestPending_Sandbox(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.sources()
	s.govern(askFirst)
	d := s.draft(executive.IntegrationDisable)
	s.do("POST", "", d).Want(201)
	var r executive.ActionRecord
	s.asked("/"+executive.IDOf(d.Name)+"/actions", "a", executive.IntegrationDisable, disableFeed()).Want(202).JSON(&r)
	wantRecord(t, r, executive.Proposed, policy.NeedsApproval, "integration")
	if got := all[approval.Approval](s, approval.Prefix); len(got) != 0 {
		t.Errorf("approvals = %+v, want none", got)
	}
}

// While the Executive Runtime is switched off, no action is carried out. What waits can be rejected.
func TestPending_SwitchedOff(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.sources()
	s.govern(askFirst)
	r := s.asks(s.certified(s.draft(executive.IntegrationDisable)), "a", executive.IntegrationDisable, disableFeed())
	on := s.Server
	s.serve(nil, true)
	s.decide(r.ApprovalID, "approve").WantProblem(409, "conflict")
	if !s.effects().FeedEnabled {
		t.Error("the feed is disabled, want it as it was")
	}
	s.decide(r.ApprovalID, "reject").Want(200)
	s.Server = on
	s.wantState("/"+r.Executive.ID+"/actions", r.ID, executive.Rejected)
}
