package simulate_test

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"orgops/shared/domain/company"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/user"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
)

// The executives of each company. A person approves what the clerk notes.
const (
	clerk  = "Clerk"
	scribe = "Scribe"
)

// agreed returns the policy of each company that has a person approve what its clerk notes.
func agreed() policy.Statement {
	return policy.Statement{ID: "notes-are-approved", Mode: policy.Enforce, Text: `@approval("a person reads what the clerk notes")
forbid (principal == Executive::"` + executive.IDOf(clerk) + `", action == Action::"timeline.note", resource) unless { context.approval == context.digest };`}
}

// people lists the founders of each company: one asks, the others decide.
func people() []string { return []string{"ada", "bob", "cyd"} }

// found stores a company with its founders, its policies and an executive, as an operator and a founder would.
func (w *world) found(name string) error {
	ctx, c, now := context.Background(), w.company(name), time.Now().UTC()
	set, err := policyengine.Compile([]policy.Statement{agreed()})
	if err != nil {
		return err
	}
	ops := []store.Op{
		c.Create(company.Key, company.Entity, company.Company{ID: name, Name: name, Plan: company.DefaultPlan, Founders: len(people()), CreatedAt: now}),
		policy.Save(c, 0, policy.Stored{Policies: []policy.Statement{agreed()}, Digest: set.Digest(), UpdatedAt: now, UpdatedBy: "ada"}),
	}
	for _, name := range []string{clerk, scribe} {
		e := executive.New(executive.Draft{Name: name, Role: "notes", Owner: "ada", Actions: []executive.Action{executive.TimelineNote}, QuotaPerDay: 100}, now)
		e.Certification = &executive.Certification{PassedAt: now, ExpiresAt: now.Add(executive.CertifiedFor)}
		ops = append(ops, c.Create(executive.Key(e.ID), executive.Entity, e))
	}
	for _, who := range people() { // older than a request of a process whose clock is behind
		u := user.User{ID: who, Email: who + "@" + name + ".test", Role: user.Founder, State: user.Active, CreatedAt: now.Add(-time.Minute)}
		ops = append(ops, c.Create(user.Key(who), user.Entity, u).Quietly())
	}
	return c.Commit(ctx, ops...)
}

// decoded returns the JSON of an answer.
func decoded[T any](v *wish) (out T, err error) {
	if !v.succeeded() {
		return out, errors.New("the request did not succeed: " + v.reply)
	}
	return out, json.Unmarshal([]byte(v.reply), &out)
}
