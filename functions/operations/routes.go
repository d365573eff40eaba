// Package operations serves the administration of a company: its users, who did what, its policies, what the policy engine
// decided with them, the approvals that it asks for, how reliable deliveries and syncs are, and what to do about dead letters.
package operations

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/domain/export"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/user"
	"orgops/shared/insight/assessment"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/policyengine/policycheck"
	"orgops/shared/run/boot"
	"orgops/shared/storage/mail"
	"orgops/shared/storage/store"
	"orgops/shared/web"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/slack"
)

// Deps holds what the group works with.
type Deps struct {
	Engine     policy.Engine
	Checker    *policycheck.Checker
	Vault      integration.Vault // seals the codes of notices
	Connectors connector.Registry
	Store      store.Store // for logins, which are outside of the company's partition
	Reader     *assessment.Reader
	Courier    *courier.Courier                         // tells the breakers' states; it sends nothing here
	Client     *outbound.Client                         // says which addresses may be called; it calls none here
	Mail       mail.Sender                              // sends test mails; nil: the service sends no mails
	Slack      slack.Client                             // sends test messages
	SlackApp   func(context.Context) (slack.App, error) // the operator's; nil: none
	Base       string                                   // the service's address, without a slash at the end
	Logger     *slog.Logger
	Now        func() time.Time

	SendsFrom    []netip.Prefix // where deliveries and syncs come from; nil: not fixed
	NoExecutives bool           // the Executive Runtime is left out

	installs *web.SourceLimit // set by Register
}

// MaxInstalls limits the ends of installations of the Slack app that one network brings in a minute.
const MaxInstalls = 60

// Mount registers the group with the service's parts.
func Mount(api huma.API, s *boot.Services) {
	Register(api, Deps{
		Store: s.Store, Reader: assessment.NewReader(s.Now), Courier: s.Courier(), Engine: s.Engine, Vault: s.Vault, Checker: policycheck.New(), Now: s.Now,
		Connectors: s.Connectors, Client: s.Client, NoExecutives: s.NoExecutives, SendsFrom: s.SendsFrom,
		Mail: s.Mail, Slack: s.Slack(), SlackApp: s.SlackApp, Base: s.Base, Logger: s.Logger,
	})
}

// Register adds the group's operations to api.
func Register(api huma.API, d Deps) {
	web.Register(api, operation(http.MethodGet, "/decisions", "list-decisions", "List policy decisions",
		"Every verdict of the policy engine, with the policies that decided it. Newest first. Decisions are kept for 180 days.",
		http.StatusOK, user.ScopeOperationsRead), listDecisions)
	d.registerUsers(api)
	d.registerNotices(api)
	d.registerChannels(api)
	d.installs = web.NewSourceLimit("slack-installation", MaxInstalls, d.Now)
	d.registerSlackInstall(api)
	d.registerSlackPress(api)
	d.registerSlackLink(api)
	d.registerClients(api)
	d.registerGrants(api)
	registerAudit(api)
	d.registerReliability(api)
	d.registerPolicies(api)
	d.registerApprovals(api)
	d.registerErasure(api)
	d.registerSecondFactor(api)
}

func (d Deps) registerReliability(api huma.API) {
	read, write := user.ScopeOperationsRead, user.ScopeOperationsWrite
	web.Register(api, operation(http.MethodGet, "/reliability", "get-reliability", "Get how reliable deliveries and syncs are",
		"Success and burn rate of five windows of time, the backlog, each endpoint with its breaker, and the syncs of each provider.",
		http.StatusOK, read), d.getReliability)
	web.Register(api, operation(http.MethodGet, "/metrics", "get-metrics", "Get the reliability as metrics",
		"The numbers of get-reliability as OpenMetrics text, for Prometheus and its relatives.", http.StatusOK, read), d.getMetrics, metricsOperation)
	web.Register(api, operation(http.MethodGet, "/dead-letters", "list-dead-letters", "List dead letters",
		"The deliveries of all endpoints whose last attempt failed. Newest event first. A delivery appears within seconds of its last attempt. "+
			"A page may be short, or empty, and still have a next page.", http.StatusOK, read), d.listDeadLetters)
	web.Register(api, operation(http.MethodPost, "/dead-letters/replay", "replay-dead-letters", "Replay dead letters",
		"Sends the dead letters of a window of time again: those of one endpoint, or of each that has any. Answers a recovery for each endpoint.",
		http.StatusAccepted, write), d.replayDeadLetters)
	web.Register(api, operation(http.MethodGet, "/usage", "get-usage", "Get what the company uses",
		"Its plan with the limits, the delivery attempts of the last 30 days, the syncs and decisions of the last day, and what it has now.",
		http.StatusOK, read), d.getUsage)
	all := operation(http.MethodGet, "/export", export.Operation, "Export everything the company has",
		"JSON Lines, one stored item a line, without secrets, in pages of about 2 MiB: follow Link to the next one. The last line of a page "+
			"tells which items it has, with their SHA-256; an import checks that. An export is no snapshot: "+
			"an item that changes meanwhile is exported as it is when its page is read. It needs the scopes to read all that it has. "+
			"The audit log tells who read its first and its last page, and a mail tells the founders of an export by a person, once a day.", http.StatusOK, write)
	all.Security = web.Needs(append([]string{write}, user.Member.Scopes()...)...)
	web.Register(api, web.AuditedRefusals(all, "the records of its first and its last page"), exportCompany, exportOperation)
}

func operation(method, path, id, summary, description string, status int, scope string) huma.Operation {
	return web.AuditedWrites(huma.Operation{
		OperationID: id, Method: method, Path: "/companies/{companyId}/operations" + path, Summary: summary,
		Description: description, DefaultStatus: status, Tags: []string{"operations"}, Security: web.Needs(scope),
	})
}
