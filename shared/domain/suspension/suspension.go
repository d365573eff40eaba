// Package suspension suspends companies and resumes them. A suspended company can be read, and nothing of it can be changed: its
// users' writes and its providers' webhooks are refused, and deliveries to its endpoints are held.
//
// The mark for the users' tokens (user.Halt) and the mark of each integration stand where requests and workers read anyway, so
// that the check costs them nothing.
package suspension

import (
	"context"
	"strconv"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// Timer names the kind of the timer that marks again what a request in flight or a crash has left without its mark. Its subject
// is the version of the company, so that each change has its own.
const Timer = "suspension"

// checkAfter is how long after a change the timer fires: later than any process still admits a request by what it read before.
const checkAfter = time.Minute

// maxReason limits the characters of a reason.
const maxReason = 500

// Suspend suspends the company that c is bound to. It returns fault.Conflict for a company that is suspended already.
func Suspend(ctx context.Context, c store.Company, reason string, now time.Time) (company.Company, error) {
	if len([]rune(reason)) > maxReason {
		return company.Company{}, fault.Refuse([]fault.FieldError{{Pointer: "/reason", Detail: "has at most 500 characters"}})
	}
	is, version, err := company.Get(ctx, c)
	if err != nil {
		return is, err
	}
	if is.Suspended != nil {
		return is, fault.New(fault.Conflict, "the company is suspended already")
	}
	now = now.UTC().Truncate(time.Millisecond)
	is.Suspended = &company.Suspension{At: now, Reason: reason}
	return is, change(ctx, c, is, version, c.Create(user.HaltKey, user.HaltEntity, user.Halt{}).Quietly(), now)
}

// Resume ends the suspension of the company that c is bound to. What was held because of the suspension is sent. It returns
// fault.Conflict for a company that is not suspended.
func Resume(ctx context.Context, c store.Company, now time.Time) (company.Company, error) {
	is, version, err := company.Get(ctx, c)
	if err != nil {
		return is, err
	}
	switch {
	case is.Erasing != nil:
		return is, fault.New(fault.Conflict, "the company is being erased; it cannot be resumed")
	case is.Suspended == nil:
		return is, fault.New(fault.Conflict, "the company is not suspended")
	}
	halt, err := c.Get(ctx, user.HaltKey, nil)
	if err != nil {
		return is, store.Fault(err, "the company is not suspended")
	}
	is.Suspended = nil
	return is, change(ctx, c, is, version, c.Delete(user.HaltKey, user.HaltEntity, halt.Version).Quietly(), now.UTC())
}

// change stores a changed company with its halt and a timer, then marks the integrations. If it is interrupted in between, the
// timer goes on.
func change(ctx context.Context, c store.Company, is company.Company, version int64, halt store.Op, now time.Time) error {
	err := c.Commit(ctx, c.Replace(company.Key, company.Entity, version, is), halt, c.Timer(now.Add(checkAfter), Timer, strconv.FormatInt(version+1, 10)))
	if err != nil {
		return store.Fault(err, "there is no such company")
	}
	return mark(ctx, c, is.Suspended != nil, now)
}
