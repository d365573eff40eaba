package ticker

import (
	"context"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/company"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/erasure"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/suspension"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/queue/timerqueue"
	"orgops/shared/storage/store"
)

// ops returns the operations of a timer, from the current state of its subject.
func (t *Ticker) ops(ctx context.Context, c store.Company, timer store.Timer) ([]store.Op, error) {
	switch timer.Kind {
	case intake.ReviewTimer:
		return t.reviewGoal(ctx, c, timer.Subject)
	case integration.ExpiryTimer:
		return t.expire(ctx, c, timer.Subject)
	case integration.WarningTimer, integration.CredentialTimer:
		return t.warn(ctx, c, timer)
	case integration.ScheduleTimer:
		return t.sync(ctx, c, timer.Subject)
	case integration.FailingTimer:
		return t.demote(ctx, c, timer.Subject)
	case delivery.OverdueTimer:
		return t.overdue(ctx, c, timer.Subject)
	case recovery.OverdueTimer:
		return t.lostRecovery(ctx, c, timer.Subject)
	case syncrun.OverdueTimer:
		return t.lostRun(ctx, c, timer.Subject)
	case suspension.Timer:
		return suspension.Check(ctx, c, t.Now().UTC())
	case erasure.Timer:
		return t.erase(ctx, c, timer.Subject)
	case company.KeyTimer:
		return t.endKey(ctx, c, timer.Subject)
	case approval.WarningTimer:
		return approval.Warn(ctx, c, timer.Subject, t.Now().UTC())
	case approval.ExpiryTimer:
		return approval.Expire(ctx, c, timer.Subject, t.Now().UTC())
	case notice.OverdueTimer:
		return notice.Overlooked(ctx, c, timer.Subject, t.Now().UTC())
	case notice.BriefTimer:
		return notice.Briefed(ctx, c, timer, t.Now().UTC())
	case timerqueue.Timer:
		return nil, t.send(ctx, timer)
	case timeline.BriefTimer:
		return t.weeklyBrief(ctx, c, timer.At)
	}
	return nil, nil // a kind of an older release: there is nothing to do
}

// warn marks a certification or credentials as about to expire, and sets the timer that ends the certification.
func (t *Ticker) warn(ctx context.Context, c store.Company, timer store.Timer) ([]store.Op, error) {
	provider, _, _ := strings.Cut(timer.Subject, "@")
	i, version, err := integration.Load(ctx, c, provider)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	now := t.Now().UTC()
	marked, ok := i.Warned(timer.Kind, now)
	switch {
	case !ok && timer.Kind == integration.WarningTimer: // maybe its time is over, because the tick is late
		return expired(c, i, version, now), nil
	case !ok:
		return nil, nil
	}
	ops := []store.Op{c.Replace(integration.Key(provider), integration.Entity, version, marked)}
	if timer.Kind == integration.WarningTimer {
		ops = append(ops, c.Timer(marked.Certification.ExpiresAt, integration.ExpiryTimer, timer.Subject))
	}
	return ops, nil
}

// expire returns a connector to the sandbox when its certification has expired.
func (t *Ticker) expire(ctx context.Context, c store.Company, subject string) ([]store.Op, error) {
	provider, _, _ := strings.Cut(subject, "@")
	i, version, err := integration.Load(ctx, c, provider)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return expired(c, i, version, t.Now().UTC()), nil
}

// expired returns the write that returns a connector to the sandbox, if its certification has expired.
func expired(c store.Company, i integration.Integration, version int64, now time.Time) []store.Op {
	if i.State != integration.Certified || i.IsCertified(now) {
		return nil
	}
	return []store.Op{c.Replace(integration.Key(i.Provider), integration.Entity, version, i.Sandboxed(integration.SandboxedByExpiry, now))}
}
