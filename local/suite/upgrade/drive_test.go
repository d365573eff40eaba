package upgrade

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"orgops/local/command/apiclient"
	"orgops/local/command/trigger"
)

// The founder of the company in the fixture.
const (
	founderEmail    = "ada@example.com"
	founderPassword = "correct horse battery staple"
)

// request is one request of a founder. Its path is below the company's.
type request struct {
	method, path string
	body         any
}

type object = map[string]any

// requests returns the requests that store items of many kinds. They use only what the release before knows too. owner is the id of
// the founder, and address that of a receiver.
func requests(owner, address string) []request {
	return []request{
		{http.MethodPost, "/integrations/feed", object{"url": address + "/feed.xml"}},
		{http.MethodPost, "/integrations/feed/certification", nil},
		{http.MethodPost, "/integrations/webhook", object{"url": address + "/hook", "events": []string{"memory.*", "goal.*"}, "signingSecret": signingSecret}},
		{http.MethodPost, "/integrations/webhook/certification", nil},
		{http.MethodPost, "/integrations/webhook/secret", object{}},
		{http.MethodPut, "/integrations/webhook/mapping", object{"rules": []object{{
			"when": `.payload.type == "ticket"`, "action": "memory.upsert", "with": object{"externalId": ".payload.id", "kind": `"ticket"`, "title": ".payload.title"},
		}}}},
		{http.MethodPost, "/operations/users", object{"email": "grace@example.com", "name": "Grace Hopper", "role": "member"}},
		{http.MethodPost, "/executives", object{"name": "Chief of Staff", "role": "Keeps the timeline tidy", "owner": owner, "actions": []string{"timeline.note"}, "quotaPerDay": 10}},
		{http.MethodPut, "/operations/policies", object{"policies": []object{{
			"id": "quiet", "mode": "log-only", "text": `forbid (principal, action == Action::"timeline.note", resource);`,
		}}}},
		{http.MethodPut, "/operations/sso", object{"protocol": "oidc", "oidc": object{"issuer": address, "clientId": "orgops", "clientSecret": "s3cret"}}},
	}
}

// drive stores items through the API at an address: once, because the same requests are refused when their items are there.
func drive(ctx context.Context, base string) error {
	if err := cause(ctx, base, "memory.created", "memory.updated", "goal.updated", "goal.alignment.changed", "timeline.entry.created"); err != nil {
		return err
	}
	client, err := apiclient.Login(ctx, apiclient.Account{Base: base, Email: founderEmail, Password: founderPassword})
	if err != nil {
		return err
	}
	var users struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	if err := client.Do(ctx, http.MethodGet, "/operations/users", nil, &users); err != nil {
		return err
	}
	to := newReceiver()
	defer to.Close()
	for _, r := range requests(users.Items[0].ID, to.URL) {
		if err := client.Do(ctx, r.method, r.path, r.body, nil); err != nil {
			return fmt.Errorf("%s %s: %w", r.method, r.path, err)
		}
	}
	if err := refuse(ctx, client); err != nil {
		return err
	}
	if err := begin(ctx, base, client.Company()); err != nil {
		return err
	}
	return deliver(ctx, client, base, to)
}

// cause causes events by what really happens to items, and can be repeated.
func cause(ctx context.Context, base string, events ...string) error {
	terminal := apiclient.Terminal{Getenv: func(name string) string {
		return map[string]string{"ORGOPS_PASSWORD": founderPassword}[name]
	}}
	for _, event := range events {
		if err := trigger.Run(ctx, []string{event, "--api", base, "--email", founderEmail}, terminal, io.Discard); err != nil {
			return fmt.Errorf("%s: %w", event, err)
		}
	}
	return nil
}
