package simulate_test

import (
	"encoding/json"
	"fmt"
	"time"

	"orgops/local/suite/simulate/simqueue"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
)

const slackHost = "hooks.slack.com"

// A crowd: more approvals and alerts at once than a person or a channel gets in an hour. The mail host is away when the rest is due, and the
// approvals are rejected before it is back.
const (
	crowd     = 8 // of each kind
	crowdAt   = time.Minute
	awayFrom  = span - time.Minute
	rejectAt  = span + 5*time.Minute
	awayUntil = rejectAt + 30*time.Second
)

// mailless reports whether the mail host takes nothing.
func (w *world) mailless() bool {
	since := time.Since(w.trace.start)
	return w.plan.on[crowded] && since > awayFrom && since < awayUntil
}

// configureSlack gives a company of a crowded world a channel in Slack.
func (w *world) configureSlack(company string) error {
	if !w.plan.on[crowded] {
		return nil
	}
	ctx, c := w.t.Context(), w.company(company)
	sealed, err := vault.New(w.keys, w.keys, time.Now).Seal(ctx, company, notice.SlackLabel, []byte("https://"+slackHost+channelOf(company)))
	if err != nil {
		return err
	}
	return c.Commit(ctx, notice.SaveChannel(c, notice.Slack, 0, notice.SlackSettings{Kinds: []notice.Kind{notice.Approval, notice.Alert}, Webhook: sealed}))
}

func channelOf(company string) string { return "/services/" + company }

// scheduleCrowd has a crowd told to the people of each company.
func (w *world) scheduleCrowd() {
	if !w.plan.on[crowded] {
		return
	}
	for _, company := range w.companies {
		var asked []approval.Approval
		w.schedule(w.trace.start.Add(crowdAt), "crowd of "+company, func() { asked = w.askAll(company) })
		w.schedule(w.trace.start.Add(rejectAt), "end of the crowd of "+company, func() {
			for _, a := range asked {
				ops, err := a.End(approval.Rejected, approval.Answer{At: time.Now().UTC(), By: timeline.Reference{Type: user.Entity, ID: "bob"}}).Settle(w.t.Context(), w.company(company), 1)
				w.must(company, err, ops...)
			}
		})
	}
}

// askAll asks for approvals of a company, and has its endpoints pause.
func (w *world) askAll(company string) (asked []approval.Approval) {
	now := time.Now().UTC()
	asks := timeline.Reference{Type: user.Entity, ID: "ada"}
	for n := range crowd {
		name := fmt.Sprintf("crowd-%d", n)
		a := approval.New(policy.Decision{ID: name, At: now, Action: "goal.update", Principal: asks, ActionDigest: name}, json.RawMessage(`{}`), name, asks)
		w.must(company, nil, a.Request(w.company(company), 0)...)
		asked = append(asked, a)
		m, err := notice.Job{Company: company, Matter: new(notice.Paused(name, delivery.Turn{Paused: true, Since: now}, now))}.Message(now)
		w.must(company, err)
		w.notices.Send(now, 0, m, simqueue.Lineage{})
	}
	return asked
}

// must commits to a company without faults.
func (w *world) must(company string, err error, ops ...store.Op) {
	if err == nil && len(ops) > 0 {
		err = w.company(company).Commit(w.t.Context(), ops...)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}
