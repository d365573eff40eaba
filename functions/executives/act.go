package executives

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/base/phrase"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/provider/acting"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// maxTries bounds how often an action is planned again after a concurrent write to the same items.
const maxTries = 10

type actInput struct {
	ExecutiveInput
	Key  string `header:"Idempotency-Key" required:"true" minLength:"1" maxLength:"255" pattern:"^\"?[!#-~][!-~]{0,254}\"?$" patternDescription:"visible ASCII characters without spaces, with or without quotation marks around them" doc:"Identifies the action: a repeat with the same key within 24 h does not run again and gets the same action" example:"2026-05-01-morning-sync"`
	Body ActionRequest
}

type actedOutput struct {
	Location string `header:"Location" doc:"the action's path"`
	Body     executive.ActionRecord
}

// act carries out an action, asks for its approval, or proposes it in the sandbox. Its effect or the approval, the decision,
// the record of the action and the entry on the timeline are one transaction with the mark of the key. So a process that ends
// at any point leaves no action half done, and a repeat with the key finds what was done.
func (d Deps) act(ctx context.Context, in *actInput) (*actedOutput, error) {
	if err := in.Body.Input.Check(in.Body.Action); err != nil {
		return nil, err
	}
	a := asking{
		Deps: d, company: web.Tenant(ctx), executiveID: in.Executive, request: in.Body, by: web.CallerOf(ctx), now: d.Now().UTC(),
		key: strings.Trim(strings.TrimSpace(in.Key), `"`),
	}
	if err := mayAsk(a.by, in); err != nil {
		return nil, err
	}
	if !id.Valid(in.Executive) {
		return nil, fault.New(fault.NotFound, "there is no executive with this id")
	}
	var err error
	if a.input, a.asked, err = a.identify(); err != nil {
		return nil, err
	}
	for range maxTries {
		r, err := a.attempt(ctx)
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return answer(ctx, r.AsOf(a.now))
	}
	e := fault.New(fault.Unavailable, "too many requests change the same items at once; send this one again")
	e.RetryAfter = time.Second
	return nil, e
}

// mayAsk refuses an executive that asks in the name of another one, or asks for a user who may not do what the action does.
func mayAsk(by web.Caller, in *actInput) error {
	if by.Has(user.ScopeExecutivesWrite) {
		return nil
	}
	if by.Executive != in.Executive {
		return fault.New(fault.Forbidden, "the token is of another executive; an executive asks for its own actions alone")
	}
	if scope := in.Body.Action.Scope(); by.Person() != "" && !slices.Contains(user.Role(by.Role).Scopes(), scope) {
		return fault.Newf(fault.Forbidden, "the user for whom the executive acts lacks %s, which %s needs", scope, in.Body.Action)
	}
	return nil
}

// asking holds one checked request for an action.
type asking struct {
	Deps
	company     store.Company
	executiveID string
	request     ActionRequest
	input       json.RawMessage // the input of request
	by          web.Caller
	now         time.Time
	key         string // as sent
	asked       string // identifies the request, so that its key is good for no other one
}

// identify encodes the input and identifies the request.
func (a asking) identify() (input json.RawMessage, asked string, err error) {
	if input, err = json.Marshal(a.request.Input); err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s%s %s %s", a.by.Executive, a.by.UserID, a.request.Action, input))
	return input, base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// requester names who asked: a user, also one for whom the executive acts, or the executive by itself.
func (a asking) requester() timeline.Reference {
	if person := a.by.Person(); person != "" {
		return timeline.Reference{Type: user.Entity, ID: person}
	}
	return timeline.Reference{Type: executive.Entity, ID: a.by.Executive}
}

// attempt returns the action that was asked for with the key, or decides and commits it. It returns store.ErrConflict if an
// item that it read has changed since.
func (a asking) attempt(ctx context.Context) (executive.ActionRecord, error) {
	s, err := executive.Load(ctx, a.company, a.executiveID)
	if err != nil {
		return executive.ActionRecord{}, err
	}
	key := executive.MarkKey(s.Executive, strings.Join([]string{a.by.UserID, a.by.Client, a.by.Executive}, " "), a.key)
	mark, marked, err := executive.FindMark(ctx, a.company, key)
	if err != nil {
		return executive.ActionRecord{}, err
	}
	if marked > 0 {
		if r, stands, err := a.repeated(ctx, key, mark, marked); err != nil || stands {
			return r, err
		}
	}
	r, ops, err := a.plan(ctx, s)
	if err != nil {
		return executive.ActionRecord{}, err
	}
	spend, err := s.Spend(ctx, a.company, a.now)
	if fault.KindOf(err) == fault.QuotaExceeded {
		if untold := a.tell(ctx, s); untold != nil {
			err = untold
		}
		return executive.ActionRecord{}, err
	}
	if err != nil {
		return executive.ActionRecord{}, err
	}
	mark = executive.Mark{Record: r.ID, Asked: a.asked}
	ops = append(ops, mark.Save(a.company, key, marked, a.now), spend, a.company.Unchanged(executive.Key(s.ID), s.Version))
	return r, store.Fault(a.company.Commit(ctx, ops...), "")
}

// repeated returns the action that was asked for with the same key. stands is false if the request is a new one all the same.
func (a asking) repeated(ctx context.Context, key string, mark executive.Mark, version int64) (r executive.ActionRecord, stands bool, err error) {
	if mark.Asked != a.asked {
		return r, false, fault.Refuse([]fault.FieldError{{
			Pointer: "#/header/Idempotency-Key", Detail: "was used for another request; use a new key for each request",
		}})
	}
	r, err = executive.FindRecord(ctx, a.company, a.executiveID, mark.Record)
	if err != nil || !executive.Joins(a.key) {
		return r, true, err
	}
	r = r.AsOf(a.now)
	if !mark.Stands(r) {
		return r, false, nil
	}
	if r.State == executive.Pending {
		return r, true, nil
	}
	mark.Told = true
	return r, true, store.Fault(a.company.Commit(ctx, mark.Save(a.company, key, version, a.now)), "")
}

// tell tells on the timeline, once a day, that an executive asks for more than its quota.
func (a asking) tell(ctx context.Context, s executive.Stored) error {
	op, first, err := s.Tell(ctx, a.company, a.now)
	if err != nil || !first {
		return err
	}
	p := acting.Planner{Executive: s.Executive}
	e := timeline.Entry{
		ID: timeline.ID(a.now, timeline.ExecutiveActed, s.ID), At: a.now, Kind: timeline.ExecutiveActed,
		Title: fmt.Sprintf("%s asked for more than its %s of the day", s.Name, phrase.Plural(s.QuotaPerDay, "action", "actions")), Actor: p.Reference(), Subject: p.Reference(),
	}
	if e.Details, err = json.Marshal(executive.Exceeded{Name: s.Name, QuotaPerDay: s.QuotaPerDay}); err != nil {
		return err
	}
	err = a.company.Commit(ctx, op, e.Create(a.company))
	if errors.Is(err, store.ErrConflict) { // a concurrent request tells it
		return nil
	}
	return store.Fault(err, "")
}

// plan decides on the action and returns its record with all writes that belong to it. In the sandbox these are the decision
// and the record.
func (a asking) plan(ctx context.Context, s executive.Stored) (executive.ActionRecord, []store.Op, error) {
	p := acting.Planner{Deps: a.acting(), Company: a.company, Executive: s.Executive, By: a.requester(), Now: a.now, ActsFor: a.by.Executive != ""}
	planned, err := p.Plan(ctx, a.request.Action, a.request.Input)
	if err != nil {
		return executive.ActionRecord{}, nil, err
	}
	r := executive.ActionRecord{
		ID: id.At(a.now, executive.RecordEntity, planned.Decision.ID), Executive: p.Reference(), Action: a.request.Action, Input: a.input,
		State: planned.State, Decision: planned.Decision, Effect: planned.Effect, RequestedBy: a.by.Person(), At: a.now,
	}
	if p.ActsFor { // not the third party through which a user tries the executive
		r.ClientID = a.by.Client
	}
	ops := []store.Op{policy.Create(a.company, r.Decision)}
	ops = append(ops, planned.Ops...)
	if r.State == executive.Pending {
		return a.ask(ctx, p, planned, r, ops)
	}
	return r, append(ops, r.Create(a.company)), nil
}

// ask adds the request for the approval of a pending action. An action whose approval waits gets no second one: its own
// record stands. An action whose approval was rejected is refused until that approval would have expired. An approval of a former
// executive or integration of the same name stands for nothing.
func (a asking) ask(
	ctx context.Context, p acting.Planner, planned acting.Planned, r executive.ActionRecord, ops []store.Op,
) (executive.ActionRecord, []store.Op, error) {
	mark, version, err := approval.FindMark(ctx, a.company, r.Decision.ActionDigest)
	if err != nil {
		return r, nil, store.Fault(err, "")
	}
	holds := mark.Holds(a.now)
	if holds {
		replaced := p.Replaced(ctx, a.request.Input, mark.RequestedAt())
		if replaced != nil && fault.KindOf(replaced) != fault.Conflict {
			return r, nil, replaced
		}
		holds = replaced == nil
	}
	switch {
	case !holds:
		request := p.Ask(planned, r)
		r.ApprovalID, r.ExpiresAt = request.ID, request.ExpiresAt
		ops = append(ops, request.Request(a.company, version)...)
	case mark.State == approval.Rejected:
		r.State, r.ApprovalID, r.Effect = executive.Rejected, mark.ID, nil
		ops = append(ops, p.Refusal(r.Action, r.Decision))
	default:
		var waits approval.Approval
		if _, err := a.company.Get(ctx, approval.Key(mark.ID), &waits); err != nil {
			return r, nil, store.Fault(err, "")
		}
		r, err = executive.FindRecord(ctx, a.company, a.executiveID, waits.ActionID)
		return r, ops, err
	}
	return r, append(ops, r.Create(a.company)), nil
}

// answer shows an action, or refuses an action that the policies did not permit.
func answer(ctx context.Context, r executive.ActionRecord) (*actedOutput, error) {
	if !r.Refused() {
		return &actedOutput{Location: href(ctx, r.Executive.ID, "/actions/"+r.ID), Body: r}, nil
	}
	why := "the policies deny " + string(r.Action)
	if r.State == executive.Rejected {
		why = fmt.Sprintf("a user rejected %s less than a day ago", r.Action)
	}
	e := fault.Newf(fault.DeniedByPolicy, "%s: %s", why, strings.Join(r.Decision.Reasons, "; "))
	e.Decision = r.Decision.ID
	return nil, e
}
