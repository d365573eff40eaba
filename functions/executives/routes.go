// Package executives serves a company's executives: automated agents that declare actions, are certified, and ask for them.
package executives

import (
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/domain/policy"
	"orgops/shared/domain/user"
	"orgops/shared/insight/assessment"
	"orgops/shared/provider/acting"
	"orgops/shared/provider/connector"
	"orgops/shared/run/boot"
	"orgops/shared/web"
)

// Deps holds what the group works with.
type Deps struct {
	Connectors connector.Registry
	Engine     policy.Engine
	Reader     *assessment.Reader
	Now        func() time.Time
}

// acting returns what a plan of an action needs.
func (d Deps) acting() acting.Deps {
	return acting.Deps{Connectors: d.Connectors, Engine: d.Engine, Recommendations: d.Reader}
}

// Mount registers the group with the service's parts.
func Mount(api huma.API, s *boot.Services) {
	Register(api, Deps{Connectors: s.Connectors, Engine: s.Engine, Reader: assessment.NewReader(s.Now), Now: s.Now})
}

// Register adds the group's operations to api.
func Register(api huma.API, d Deps) {
	const one = "/{executiveId}"
	read, write := user.ScopeExecutivesRead, user.ScopeExecutivesWrite

	web.Register(api, operation(http.MethodGet, "", "list-executives", "List executives",
		"In the order of their ids, which derive from their names.", 200, read), d.listExecutives)
	web.Register(api, created(operation(http.MethodPost, "", "configure-executive", "Configure an executive",
		"Creates the executive with this name (201), in the sandbox, or changes it (200). Any change returns it to the sandbox.", 201, write)), d.configureExecutive)
	web.Register(api, operation(http.MethodGet, one, "get-executive", "Get an executive",
		"With its state and its certification.", 200, read), d.getExecutive)
	web.Register(api, operation(http.MethodDelete, one, "delete-executive", "Delete an executive",
		"What it did stays on the timeline, and the decisions are kept. Ends the tokens of its clients within five seconds.", 204, write), d.deleteExecutive)
	web.Register(api, operation(http.MethodPost, one+"/certification", "certify-executive", "Run an executive's certification",
		"Checks that it has declared actions, that the policies refuse any other one, that an active user owns it, and that it has a "+
			"daily quota. If all checks pass, the executive is certified for 90 days.", 200, write), d.certifyExecutive)
	web.Register(api, operation(http.MethodGet, one+"/certification", "get-executive-certification", "Get an executive's last certification report",
		"Answers 404 if no certification has been run.", 200, read), d.getCertification)
	web.Register(api, web.AsTool(web.OwnKey(web.AuditedRefusals(operation(http.MethodPost, one+"/actions", "act-as-executive", "Ask for an action",
		"Needs an Idempotency-Key. In the sandbox the action is proposed: the answer shows the verdict and the effect, and nothing "+
			"else is changed. Certified, a permitted action is done, and one that the policies deny is refused (403) and recorded. An action "+
			"that needs an approval is pending until another user approves or rejects it, for 24 hours: see approve-action. "+
			"A repeat with the same key returns the same action, as it is now. A client that is bound to the executive asks with executives:act, "+
			"for the executive itself or for a user; a founder's token may ask too, to try the executive.", 202, write, user.ScopeExecutivesAct), "the action tells who asked for it")), web.Tool{Destructive: true, Repeatable: true}), d.act)
	web.Register(api, operation(http.MethodGet, one+"/actions", "list-executive-actions", "List an executive's actions",
		"Newest first. Actions are kept for 180 days.", 200, read), d.listActions)
	web.Register(api, web.AsTool(operation(http.MethodGet, one+"/actions/{actionId}", "get-executive-action", "Get an executive's action",
		"With the policy engine's decision and the effect.", 200, read), web.Tool{}), d.getAction)
}

func operation(method, path, id, summary, description string, status int, scopes ...string) huma.Operation {
	return web.AuditedWrites(huma.Operation{
		OperationID: id, Method: method, Path: "/companies/{companyId}/executives" + path, Summary: summary, Description: description,
		DefaultStatus: status, Tags: []string{"executives"}, Security: web.NeedsOne(scopes...),
	})
}

// created documents that an operation answers 200 too, if what it would create is there.
func created(op huma.Operation) huma.Operation {
	op.Responses = map[string]*huma.Response{"200": {Description: "Changed"}}
	return op
}

// ExecutiveInput holds the path parameter of the operations on one executive. It is exported because huma ignores embedded
// types that are not exported.
type ExecutiveInput struct {
	Executive string `path:"executiveId" maxLength:"64" doc:"The executive's id"`
}
