package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/assessment"
)

// listed is the body of a listing.
type listed[T any] struct{ Items []T }

// acts lists what a user does over HTTP.
func acts() []func(client, context.Context, string) error {
	return []func(client, context.Context, string) error{
		client.declare, client.act, client.act, client.scribble, client.rule, client.rule, client.explain, client.dismiss, client.connect, client.connect, client.look, client.intrude,
	}
}

// declare adds an executive, certifies it and reads it.
func (cl client) declare(ctx context.Context, nonce string) error {
	name := "Exec " + nonce
	body := map[string]any{"name": name, "role": "notes", "owner": "ada", "actions": []string{"timeline.note"}, "quotaPerDay": 10}
	add := &wish{method: http.MethodPost, path: "/executives", key: "declare-" + nonce, body: body, mark: `"` + name + `"`, writes: []effect{one(executive.Entity)}}
	if err := cl.insist(ctx, add, http.StatusCreated, http.StatusOK); err != nil {
		return err
	}
	path := "/executives/" + executive.IDOf(name)
	if err := cl.insist(ctx, &wish{method: http.MethodPost, path: path + "/certification"}, http.StatusOK); err != nil {
		return err
	}
	get := &wish{method: http.MethodGet, path: path}
	if err := cl.insist(ctx, get, http.StatusOK); err != nil {
		return err
	}
	shown, err := decoded[struct{ State executive.State }](get)
	if err == nil && shown.State != executive.Certified {
		return fmt.Errorf("%s was certified, and is %s", name, shown.State)
	}
	return err
}

// note returns the request that an executive notes something.
func note(name, key, title string) *wish {
	return &wish{
		method: http.MethodPost, path: "/executives/" + executive.IDOf(name) + "/actions", key: key, mark: title,
		body: map[string]any{"action": "timeline.note", "input": map[string]any{"title": title, "subject": "s"}},
	}
}

// scribble has the scribe note something, which needs no approval.
func (cl client) scribble(ctx context.Context, nonce string) error {
	ask := note(scribe, "scribble-"+nonce, "note "+nonce+".")
	ask.writes = []effect{one(executive.RecordEntity), two(timeline.Entity)} // the note, and that the scribe noted it
	if err := cl.insist(ctx, ask, http.StatusAccepted); err != nil {
		return err
	}
	return cl.repeat(ctx, ask)
}

// repeat sends a request with its key once more. It must get the first answer, unless what kept that answer failed.
func (cl client) repeat(ctx context.Context, first *wish) error {
	again := &wish{company: first.company, as: first.as, method: first.method, path: first.path, body: first.body, key: first.key, repeat: true}
	if !first.clean {
		return nil
	}
	if err := cl.insist(ctx, again, first.status); err != nil {
		return err
	}
	if again.reply != first.reply {
		return fmt.Errorf("%s %s is answered %s, and once more %s", first.method, first.path, first.reply, again.reply)
	}
	return nil
}

// act has the clerk note something, which two users decide about at once.
func (cl client) act(ctx context.Context, nonce string) error {
	title := "note " + nonce + "."
	ask := note(clerk, "act-"+nonce, title)
	ask.writes = []effect{one(executive.RecordEntity), one(approval.Entity)}
	if err := cl.insist(ctx, ask, http.StatusAccepted); err != nil {
		return err
	}
	asked, err := decoded[executive.ActionRecord](ask)
	if err != nil {
		return err
	}
	if asked.ApprovalID == "" {
		return fmt.Errorf("an action that needs an approval has no approval: %s", ask.reply)
	}
	return cl.tell(ctx, func() { cl.w.decide(cl.c.ID(), nonce, title, asked.ApprovalID) })
}

// tell starts other clients, in a step of the scheduler.
func (cl client) tell(ctx context.Context, start func()) error {
	return cl.w.ask(ctx, &call{id: cl.e.who(ctx) + " tells others", kind: gate, do: func() error {
		start()
		return nil
	}})
}

// decide lets two users decide about an approval at once: one approves, and the other one by the seed.
func (w *world) decide(company, nonce, title, approvalID string) {
	one := &deciding{company: company, title: title, approval: approvalID}
	w.decisions = append(w.decisions, one)
	for i, who := range people()[1:] {
		verb := "approve"
		if i == 1 && len(approvalID)%2+len(nonce)%2 == 1 {
			verb = "reject"
		}
		v := &wish{method: http.MethodPost, path: "/operations/approvals/" + approvalID + "/" + verb, as: who}
		one.wishes = append(one.wishes, v)
		w.client(who+" "+nonce, company, func(ctx context.Context, cl client) error {
			return cl.insist(ctx, v, http.StatusOK, http.StatusConflict)
		})()
	}
}

// rule has two users store policies at once.
func (cl client) rule(ctx context.Context, nonce string) error {
	err := cl.tell(ctx, func() {
		cl.w.client("bob "+nonce, cl.c.ID(), func(ctx context.Context, other client) error { return other.store(ctx, nonce+"-bob") })()
	})
	if err != nil {
		return err
	}
	return cl.store(ctx, nonce)
}

// store adds a policy to those of the company, based on the version that it has read.
func (cl client) store(ctx context.Context, nonce string) error {
	for round := range 8 {
		get := &wish{method: http.MethodGet, path: "/operations/policies"}
		if err := cl.insist(ctx, get, http.StatusOK); err != nil {
			return err
		}
		name := fmt.Sprintf("rule-%s-%d", nonce, round)
		rule := policy.Statement{ID: name, Mode: policy.LogOnly, Text: "permit (principal is Executive, action, resource);"}
		put := &wish{
			method: http.MethodPut, path: get.path, match: get.etag, body: map[string]any{"policies": []policy.Statement{agreed(), rule}},
			mark: `"` + name + `"`, writes: []effect{one(policy.StoredEntity)},
		}
		if err := cl.insist(ctx, put, http.StatusOK, http.StatusPreconditionFailed); err != nil {
			return err
		}
		if put.succeeded() {
			return follows(get, put)
		}
	}
	return nil
}

// follows checks that what was stored replaced the version that it was based on.
func follows(get, put *wish) error {
	type versioned struct{ Version int64 }
	was, err := decoded[versioned](get)
	is, other := decoded[versioned](put)
	if err := errors.Join(err, other); err != nil {
		return err
	}
	if is.Version != was.Version+1 {
		return fmt.Errorf("the change of version %d was stored as version %d", was.Version, is.Version)
	}
	return nil
}

// explain explains the first goal of the company.
func (cl client) explain(ctx context.Context, nonce string) error {
	list := &wish{method: http.MethodGet, path: "/goals"}
	if err := cl.insist(ctx, list, http.StatusOK); err != nil {
		return err
	}
	goals, err := decoded[listed[goal.Goal]](list)
	if err != nil || len(goals.Items) == 0 {
		return err
	}
	text := "because of " + nonce + "."
	put := &wish{
		method: http.MethodPut, path: "/goals/" + goals.Items[0].ID + "/explanation", body: map[string]any{"text": text},
		mark: text, writes: []effect{some(goal.ExplanationEntity)},
	}
	if err := cl.insist(ctx, put, http.StatusOK, http.StatusNotFound); err != nil {
		return err
	}
	return cl.insist(ctx, &wish{method: http.MethodDelete, path: put.path}, http.StatusNoContent, http.StatusNotFound)
}

// dismiss dismisses the first recommendation of the company.
func (cl client) dismiss(ctx context.Context, nonce string) error {
	list := &wish{method: http.MethodGet, path: "/intelligence/recommendations"}
	if err := cl.insist(ctx, list, http.StatusOK); err != nil {
		return err
	}
	all, err := decoded[listed[assessment.Recommendation]](list)
	if err != nil || len(all.Items) == 0 {
		return err
	}
	path := "/intelligence/recommendations/" + all.Items[0].ID
	get := &wish{method: http.MethodGet, path: path}
	if err := cl.insist(ctx, get, http.StatusOK, http.StatusNotFound); err != nil || !get.succeeded() {
		return err
	}
	text := "not now because of " + nonce + "."
	put := &wish{
		method: http.MethodPost, path: path + "/dismiss", match: get.etag, key: "dismiss-" + nonce, body: map[string]any{"reason": "planned", "text": text},
		mark: text, writes: []effect{one(recommendation.Entity)},
	}
	return cl.insist(ctx, put, http.StatusOK, http.StatusNotFound, http.StatusPreconditionFailed, http.StatusConflict)
}

// connect configures an endpoint, disables it, enables it and perhaps deletes it.
func (cl client) connect(ctx context.Context, nonce string) error {
	provider := "webhook-n" + nonce
	path := "/integrations/" + provider
	secret := secretOf(cl.w.seed, cl.c.ID(), provider)
	body := map[string]any{"url": "https://" + provider + "." + cl.c.ID() + ".test/", "events": []string{"integration.sync.completed"}, "signingSecret": secret}
	add := &wish{method: http.MethodPost, path: path, key: "connect-" + nonce, body: body, mark: provider + ".", writes: []effect{one(integration.Entity)}}
	if err := cl.insist(ctx, add, http.StatusCreated, http.StatusOK); err != nil {
		return err
	}
	if err := cl.repeat(ctx, add); err != nil {
		return err
	}
	last := ""
	for _, verb := range []string{"disable", "enable", "disable"}[:1+len(nonce)%3] {
		if err := cl.insist(ctx, &wish{method: http.MethodPost, path: path + "/" + verb, key: verb + "-" + last + "-" + nonce}, http.StatusOK); err != nil {
			return err
		}
		last = verb
	}
	get := &wish{method: http.MethodGet, path: path}
	if err := cl.insist(ctx, get, http.StatusOK); err != nil {
		return err
	}
	shown, err := decoded[struct{ Enabled bool }](get)
	if err != nil {
		return err
	}
	if shown.Enabled != (last == "enable") {
		return fmt.Errorf("%s was told to %s last, and is shown with enabled = %t", provider, last, shown.Enabled)
	}
	if err := cl.insist(ctx, &wish{method: http.MethodDelete, path: path}, http.StatusNoContent, http.StatusNotFound); err != nil {
		return err
	}
	return cl.insist(ctx, get.again(), http.StatusNotFound)
}

// again returns the same request, not sent yet.
func (v *wish) again() *wish { return &wish{method: v.method, path: v.path, as: "bob"} }

// look reads what the pages of a founder read.
func (cl client) look(ctx context.Context, _ string) error {
	for _, path := range []string{
		"/mission-control/health", "/mission-control/readiness", "/mission-control/dashboard", "/mission-control/timeline", "/intelligence/brief",
		"/intelligence/context", "/operations/reliability", "/operations/audit", "/operations/decisions", "/operations/usage", "/operations/approvals",
		"/operations/users", "/memory", "/memory/syncs", "/integrations", "/executives",
	} {
		if err := cl.insist(ctx, &wish{method: http.MethodGet, path: path}, http.StatusOK); err != nil {
			return err
		}
	}
	return nil
}

// intrude asks what is refused: with the token of another company, and with a body that is not valid.
func (cl client) intrude(ctx context.Context, nonce string) error {
	name := "Intruder " + nonce
	body := map[string]any{"name": name, "role": "notes", "owner": "ada", "actions": []string{"timeline.note"}}
	foreign := &wish{method: http.MethodPost, path: "/executives", company: "acme-stranger", of: cl.c.ID(), body: body, mark: name, writes: []effect{one(executive.Entity)}}
	if err := cl.insist(ctx, foreign, http.StatusForbidden); err != nil {
		return err
	}
	body["owner"] = "no user has this name"
	invalid := &wish{method: http.MethodPost, path: "/executives", body: body, mark: name, writes: []effect{one(executive.Entity)}}
	return cl.insist(ctx, invalid, http.StatusUnprocessableEntity)
}
