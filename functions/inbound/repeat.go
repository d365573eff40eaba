package inbound

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"

	"orgops/shared/base/fault"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
)

// earlier holds what became of the same arrival before. The zero value stands for none.
type earlier struct {
	arrival.Receipt
	version int64
}

// recall reads the receipt of the same arrival. An action whose approval was given has been done since.
func (r *reception) recall(ctx context.Context) (earlier, error) {
	known, version, err := arrival.LoadReceipt(ctx, r.company, r.receipt)
	if err != nil {
		return earlier{}, err
	}
	for n, a := range known.Actions {
		if a.Done || a.ApprovalID == "" {
			continue
		}
		var asked approval.Approval
		_, err := r.company.Get(ctx, approval.Key(a.ApprovalID), &asked)
		if err = store.Fault(err, ""); err != nil && !isAbsent(err) {
			return earlier{}, err
		}
		known.Actions[n].Done = carriedOut(asked)
	}
	return earlier{known, version}, nil
}

// carriedOut reports whether an approval was given and its action carried out.
func carriedOut(a approval.Approval) bool {
	if a.State != approval.Approved || a.Answer == nil {
		return false
	}
	switch intake.Outcome(a.Answer.Outcome) {
	case intake.Created, intake.Updated, intake.Unchanged:
		return true
	}
	return false
}

// find returns what became of one of the planned actions.
func (e earlier) find(all []intake.Planned, n int) (arrival.Action, bool) {
	if len(e.Actions) == 0 {
		return arrival.Action{}, false
	}
	place := placeOf(all, n)
	for _, a := range e.Actions {
		if a.Place == place {
			return a, true
		}
	}
	return arrival.Action{}, false
}

// did reports whether one of the planned actions took effect before.
func (e earlier) did(all []intake.Planned, n int) bool {
	a, ok := e.find(all, n)
	return ok && a.Done
}

// placeOf identifies an action among those of its arrival: by what it asks for, the place in the body, and how many such actions
// come before it. So an action that was carried out is recognised under another mapping too.
func placeOf(all []intake.Planned, n int) string {
	before := 0
	for _, p := range all[:n] {
		if p.Action.Port == all[n].Action.Port && p.Action.At == all[n].Action.At {
			before++
		}
	}
	return string(all[n].Action.Port) + " " + all[n].Action.At + " " + strconv.Itoa(before)
}

// conclude returns the answer to an arrival whose actions are planned. What took effect before is unchanged. same reports that
// the same arrival was answered in the same way before: there is nothing to write.
func (r *reception) conclude(planned []intake.Planned) (out answer, same bool) {
	out = answer{sandboxed: r.sandboxed, planned: planned}
	for n := range planned {
		if done, ok := r.earlier.find(planned, n); ok && done.Done {
			p := &planned[n]
			p.Ops, p.Outcome, p.ApprovalID = nil, intake.Unchanged, ""
			p.Decision.Verdict, p.Decision.ID = policy.Permitted, done.DecisionID
		}
	}
	out.none = r.noneOf(planned)
	if r.earlier.version == 0 || r.earlier.Basis != basisOf(r, planned) {
		return out, false
	}
	for n := range planned {
		known, _ := r.earlier.find(planned, n)
		planned[n].Decision.ID, planned[n].ApprovalID = known.DecisionID, known.ApprovalID
	}
	out.known = true
	return out, true
}

// basisOf identifies what the mapping and the policies make of an arrival. What took effect is the same as what did before.
func basisOf(r *reception, planned []intake.Planned) string {
	type part struct {
		Action    connector.Action
		Verdict   policy.Verdict
		Outcome   intake.Outcome
		PolicySet string
		Approval  string
	}
	parts := make([]part, len(planned))
	for n, p := range planned {
		parts[n] = part{p.Action, p.Decision.Verdict, p.Outcome, p.Decision.PolicySet, p.ApprovalID}
		if p.Acts() && !r.sandboxed {
			parts[n].Outcome = intake.Unchanged
		}
	}
	text, _ := json.Marshal(parts) // texts, numbers and JSON that was decoded
	sum := sha256.Sum256(append(text, r.mapped.Ignored...))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// receipt returns the receipt of an arrival. It lists the actions if a repeat decides again on any of them.
func (a answer) receipt(r *reception) arrival.Receipt {
	open := func(p intake.Planned) bool { return p.Outcome == intake.Refused || p.Outcome == intake.Pending }
	if a.none == "" && !slices.ContainsFunc(a.planned, open) {
		return arrival.Receipt{}
	}
	body := arrival.Receipt{None: a.none, Basis: basisOf(r, a.planned)}
	if r.earlier.version > 0 && r.earlier.None == "" { // a part took effect before
		body.None = ""
	}
	for n, p := range a.planned {
		done := r.earlier.did(a.planned, n) || !r.sandboxed && p.Acts()
		body.Actions = append(body.Actions, arrival.Action{Place: placeOf(a.planned, n), Done: done, DecisionID: p.Decision.ID, ApprovalID: p.ApprovalID})
	}
	return body
}

// The reasons why an accepted arrival takes no effect. The mapping has others.
const (
	noneRepeated  = "it was received before and took effect then"
	noneSandboxed = "the integration is in the sandbox"
	noneDenied    = "the policies denied every action"
	noneOlder     = "it is older than what is stored"
	noneUnchanged = "it changes nothing that is stored"
)

// noneOf returns why an arrival takes no effect, or "". A request for an approval is an effect.
func (r *reception) noneOf(planned []intake.Planned) string {
	has := func(is func(intake.Planned) bool) bool { return slices.ContainsFunc(planned, is) }
	switch {
	case r.sandboxed:
		return noneSandboxed
	case len(planned) == 0:
		return r.mapped.Ignored
	case has(intake.Planned.Acts), has(func(p intake.Planned) bool { return p.Outcome == intake.Pending }):
		return ""
	case has(func(p intake.Planned) bool { return p.Outcome == intake.Refused }):
		return noneDenied
	case has(func(p intake.Planned) bool { return p.Older }):
		return noneOlder
	}
	return noneUnchanged
}

func isAbsent(err error) bool { return fault.KindOf(err) == fault.NotFound }
