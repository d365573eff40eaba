// Package inbox keeps the latest arrivals that an integration has received in the sandbox, so that its company can look at
// them and try a mapping on them.
//
// One item lists the arrivals of an integration; each arrival has its own item. Neither holds a secret: the headers that
// may carry a credential or a signature are left out before an arrival is kept.
package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/storage/store"
)

// Limits of what is kept.
const (
	Max  = 20                 // arrivals of an integration
	Kept = 7 * 24 * time.Hour // since an arrival was received

	maxBody    = 40 << 10 // bytes of a body; a longer one is cut. As JSON it can take six times as many
	maxHeaders = 8 << 10  // bytes of the names and values together; the others are left out
)

// ReceivedSummary shows an arrival in a list.
type ReceivedSummary struct {
	ID         string    `json:"id" doc:"the arrival's id in the inbox" format:"uuid"`
	ReceivedAt time.Time `json:"receivedAt" doc:"when it was received"`
	Size       int       `json:"size" doc:"bytes of the body" format:"int32"`
	Actions    int       `json:"actions" doc:"how many actions the mapping gave" format:"int32"`
	Permitted  int       `json:"permitted" doc:"how many of them the policy engine permits" format:"int32"`
	Problem    string    `json:"problem,omitempty" doc:"why the mapping gave no actions; absent if it could be applied"`
}

// Received shows a received arrival and what the mapping and the policy engine made of it.
type Received struct {
	ReceivedSummary
	Headers   map[string]string `json:"headers" nullable:"false" doc:"without the headers that may hold a credential or a signature" example:"{\"x-github-event\":\"issues\"}"`
	Body      string            `json:"body" doc:"the body as it was received"`
	Truncated bool              `json:"truncated,omitempty" doc:"true if the body had more than 40 kB and only its beginning was kept; such an arrival cannot be tried again"`
	Source    string            `json:"source" enum:"default,company" doc:"which mapping was applied: the provider's default, or the company's"`
	Result    MappingResult     `json:"result" doc:"what the mapping and the policy engine made of it"`
}

// kept is an arrival as it is stored.
type kept struct {
	Received
	Incarnation string `json:"incarnation,omitempty"` // of the integration that received it
}

// MappingResult shows what a mapping and the policy engine make of an arrival.
type MappingResult struct {
	Actions []MappingAction `json:"actions" nullable:"false" doc:"the actions that the mapping gives, in order"`
	Problem *MappingProblem `json:"problem,omitempty" doc:"why the arrival is refused; absent if it is accepted"`
}

// MappingProblem says why an arrival is refused.
type MappingProblem struct {
	Detail string             `json:"detail" doc:"what is wrong"`
	Errors []fault.FieldError `json:"errors" nullable:"false" doc:"each problem with its place in the arrival's body"`
}

// MappingAction shows one action that a mapping gives, with its verdict.
type MappingAction struct {
	Rule     int            `json:"rule" doc:"which rule gave it, counted from 0 as in the pointer of a problem" format:"int32"`
	Action   string         `json:"action" doc:"what the arrival asks for" example:"memory.upsert"`
	At       string         `json:"at" doc:"JSON Pointer of what the action is about, in the arrival's body" example:"/issue"`
	Verdict  policy.Verdict `json:"verdict" doc:"what the policy engine decides" enum:"permitted,denied,needs-approval"`
	Policies []string       `json:"policies" nullable:"false" doc:"the policies that decide" example:"[\"permit-connector-actions\"]"`
	Reasons  []string       `json:"reasons" nullable:"false" doc:"why"`
	Outcome  string         `json:"outcome" enum:"created,updated,unchanged,refused,pending" doc:"what the action would do outside of the sandbox"`
	Subject  string         `json:"subject" doc:"the id of the item that the action is about"`

	Fields json.RawMessage `json:"fields,omitempty" doc:"what the mapping gives for the item, as in its API; in a preview alone"`
}

// index lists the arrivals of one integration, newest first.
type index struct {
	Arrivals    []ReceivedSummary `json:"deliveries"`
	Incarnation string            `json:"incarnation,omitempty"` // of the integration that received them
}

const entity = "inbox"

func indexKey(provider string) string { return "INBOXES#" + provider }

func key(provider, arrivalID string) string { return "INBOX#" + provider + "#" + arrivalID }

// Add returns the ops that keep an arrival and remove those beyond the latest 20. If their commit returns ErrConflict, another
// arrival was kept meanwhile: call Add again. The ops stay out of the change feed.
func Add(ctx context.Context, c store.Company, o arrival.Owner, d Received) ([]store.Op, error) {
	if len(d.Body) > maxBody {
		d.Body, d.Truncated = text.Truncate(d.Body, maxBody), true
	}
	d.ReceivedSummary, d.Headers = summary(d), bounded(d.Headers)
	provider := o.Provider
	listed, version, err := load(ctx, c, provider)
	if err != nil {
		return nil, err
	}
	if listed.Incarnation != o.Incarnation { // the former arrivals expire
		listed = index{Incarnation: o.Incarnation}
	}
	now := d.ReceivedAt
	ops := []store.Op{c.Create(key(provider, d.ID), entity, kept{d, o.Incarnation}).Until(now.Add(Kept)).Quietly()}
	all := append([]ReceivedSummary{d.ReceivedSummary}, live(listed.Arrivals, now)...)
	for _, old := range all[min(len(all), Max):] {
		item, err := c.Get(ctx, key(provider, old.ID), nil)
		switch {
		case err == nil:
			ops = append(ops, c.Delete(item.Key, entity, item.Version).Quietly())
		case !errors.Is(err, store.ErrNotFound):
			return nil, store.Fault(err, "")
		}
	}
	listed.Arrivals = all[:min(len(all), Max)]
	return append(ops, c.Save(indexKey(provider), entity, version, listed).Until(now.Add(Kept)).Quietly()), nil
}

// bounded returns headers, in the order of their names, up to the limit of all together.
func bounded(headers map[string]string) map[string]string {
	kept, left := make(map[string]string, len(headers)), maxHeaders
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if left -= len(name) + len(headers[name]); left < 0 {
			break
		}
		kept[name] = headers[name]
	}
	return kept
}

func summary(d Received) ReceivedSummary {
	s := d.ReceivedSummary
	s.Actions, s.Permitted, s.Problem = len(d.Result.Actions), 0, ""
	for _, a := range d.Result.Actions {
		if a.Verdict == policy.Permitted {
			s.Permitted++
		}
	}
	if d.Result.Problem != nil {
		s.Problem = d.Result.Problem.Detail
	}
	return s
}

// live returns the arrivals that have not expired.
func live(all []ReceivedSummary, now time.Time) []ReceivedSummary {
	for n, s := range all {
		if !now.Before(s.ReceivedAt.Add(Kept)) {
			return all[:n]
		}
	}
	return all
}

// List reads the kept arrivals of an integration, newest first. Those of a deleted integration can be read until its name is
// configured again.
func List(ctx context.Context, c store.Company, provider string, now time.Time) ([]ReceivedSummary, error) {
	listed, _, err := load(ctx, c, provider)
	if err != nil || len(listed.Arrivals) == 0 {
		return []ReceivedSummary{}, err
	}
	former, err := isFormer(ctx, c, provider, listed.Incarnation)
	if err != nil || former {
		return []ReceivedSummary{}, err
	}
	return append([]ReceivedSummary{}, live(listed.Arrivals, now)...), nil
}

// isFormer reports whether an incarnation of an integration has been followed by another one.
func isFormer(ctx context.Context, c store.Company, provider, incarnation string) (bool, error) {
	i, _, err := integration.Load(ctx, c, provider)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return i.Incarnation != incarnation, err
}

func load(ctx context.Context, c store.Company, provider string) (listed index, version int64, err error) {
	item, err := c.Get(ctx, indexKey(provider), &listed)
	if errors.Is(err, store.ErrNotFound) {
		return index{}, 0, nil
	}
	return listed, item.Version, store.Fault(err, "")
}

// Load reads one kept arrival. It returns fault.NotFound for an id that is unknown, has expired, or was received by an
// integration that has been deleted and configured again.
func Load(ctx context.Context, c store.Company, provider, arrivalID string) (Received, error) {
	const absent = "the inbox holds no such arrival; it keeps the latest 20 of 7 days"
	var d kept
	if _, err := c.Get(ctx, key(provider, arrivalID), &d); err != nil {
		return Received{}, store.Fault(err, absent)
	}
	former, err := isFormer(ctx, c, provider, d.Incarnation)
	if err == nil && former {
		err = fault.New(fault.NotFound, absent)
	}
	return d.Received, err
}
