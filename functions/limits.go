package functions

import (
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/functions/auth"
	"orgops/functions/inbound"
	"orgops/functions/integrations"
	"orgops/functions/mcp"
	"orgops/functions/operations"
	signon "orgops/functions/sso"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/client"
	"orgops/shared/domain/company"
	deliveries "orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/export"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/grant"
	"orgops/shared/domain/inbox"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/roundtrip"
	"orgops/shared/domain/sso"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/identity/assertion"
	"orgops/shared/identity/keysize"
	"orgops/shared/identity/password"
	"orgops/shared/identity/token"
	"orgops/shared/identity/usagekey"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/genericwebhook"
	"orgops/shared/provider/github"
	"orgops/shared/provider/manifest"
	"orgops/shared/provider/mapping"
	"orgops/shared/provider/postgresql"
	"orgops/shared/provider/trial"
	"orgops/shared/web"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/post"
	"orgops/shared/webhook/slack"
	"orgops/shared/webhook/standardwebhooks"
)

// Limit states a number that a caller of the service may meet. The code that holds to a limit has its value.
type Limit struct {
	ID    string `json:"id"`
	Of    string `json:"of"`
	Value int64  `json:"value"`
	Unit  string `json:"unit"`
}

// span returns a limit of time, in seconds.
func span(id, of string, d time.Duration) Limit {
	return Limit{id, of, int64(d / time.Second), "seconds"}
}

// Limits lists the limits by what they are of. Those of a plan apply at the gateway of the hosted form.
func Limits() []Limit {
	limits := []Limit{
		{"request-body", "a request's body", web.MaxBody, "bytes"},
		{"github-webhook", "the body of a webhook of github", github.MaxPayload, "bytes"},
		{"github-webhook-form", "the body of a webhook of github that is a form", github.MaxForm, "bytes"},
		{"page", "a page of a listing", web.MaxPage, "items"},
		{"page-bytes", "the items on a page of a listing, as they are stored; a longer page is cut", web.MaxListed, "bytes"},
		{"export-page", "a page of an export, to which its last item adds", export.MaxBytes, "bytes"},
		span("idempotency-key", "the time for which a repeat with an Idempotency-Key gets the first answer", web.IdempotencyKept),
		{"login-tries-network", "the login tries a minute for an e-mail address from one network", auth.MaxTriesFromSource, "tries"},
		{"login-tries-of-network", "the tries a minute from one network: logins for all e-mail addresses, invitations and requests for tokens", auth.MaxTriesOfSource, "tries"},
		{"login-tries", "the login tries a minute for an e-mail address", auth.MaxTries, "tries"},
		span("invitation", "the time in which an invitation is accepted", company.InvitationKept),
		span("audit-kept", "the time for which an audit record is kept", audit.Kept),
		{"mcp-answer", "an answer to a call of a tool; a page is cut, and then its texts", mcp.MaxAnswer, "bytes"},
		span("token-lifetime", "an access token's life", token.Lifetime),
		{"password", "a password", password.MaxLength, "characters"},
		{"user-name", "a user's name", user.MaxName, "characters"},
		{"email", "an e-mail address", user.MaxEmail, "bytes"},
		span("password-reset", "the time in which a reset that was asked for gets a code, and the code is used", company.ResetKept),
		{"factors", "the second factors of one person", company.MaxFactors, "factors"},
		{"recovery-codes", "the recovery codes of one person", company.RecoveryCodes, "codes"},
		span("enrolment", "the time in which an authenticator app gives its first code", company.EnrolmentKept),
		span("challenge", "the time in which a second factor follows the password, and in which a passkey is made", company.ChallengeKept),
		{"rsa-key", "an RSA key of single sign-on, of a passkey or of a certificate authority", keysize.MaxRSA, "bits"},
		span("proof-age", "the time after a login in which second factors are changed", auth.MaxProofAge),
		{"wrong-codes", "the wrong codes of a person, until the time of the next limit is over", company.MaxWrongCodes, "codes"},
		span("wrong-codes-time", "the time from a wrong code on for which wrong codes are counted, and too many refuse every code", company.WrongKept),
		{"resets-address", "the resets of a password that are asked for one e-mail address in an hour", company.MaxResets, "resets"},
		{"resets-network", "the resets of passwords that one network asks for in an hour", company.MaxResetsOfSource, "resets"},
		{"memberships", "the companies of one person", user.MaxMemberships, "companies"},
		{"sso-network", "the sign-ins through identity providers that one network begins in a minute, and the providers' answers that it brings", signon.MaxFromSource, "sign-ins"},
		span("sso-try", "a sign-in through an identity provider", roundtrip.Lifetime),
		{"connection-network", "the answers of providers at the end of connections that one network brings in a minute", integrations.MaxFromSource, "answers"},
		span("connection", "the way to a provider and back that connects an integration", roundtrip.Lifetime),
		span("sso-code", "the time in which the code of a sign-in is exchanged", sso.CodeLifetime),
		{"sso-metadata", "a SAML provider's metadata", sso.MaxMetadata, "bytes"},
		{"sso-roles", "the entries of the role mapping of single sign-on", sso.MaxRoles, "entries"},
		{"sso-redirects", "the redirects where a sign-in may end", sso.MaxRedirects, "redirects"},

		{"integrations", "the integrations of a company", integration.MaxPerCompany, "integrations"},
		{"integrations-enterprise", "the integrations of a company on the plan enterprise", integration.MaxOfEnterprise, "integrations"},
		{"url", "the url of an endpoint or a feed", outbound.MaxURL, "bytes"},
		{"signing-secrets", "the live signing secrets of an integration", integration.MaxSecrets, "secrets"},
		{"secret-headers", "the secret headers of an endpoint", genericwebhook.MaxSecretHeaders, "headers"},
		span("secret-grace", "the time for which a rotated secret goes on", integration.RotationGrace),
		span("certification", "the time for which an integration stays certified", integration.CertifiedFor),
		span("failing", "the time of failed deliveries after which an endpoint is disabled", courier.FailingLimit),
		{"failed-syncs", "the failed syncs in a row after which a schedule is paused", integration.MaxFailures, "syncs"},
		span("failing-source", "the time of failed syncs after which a source may no longer sync", integration.MaxFailing),
		span("delivery-age", "the distance of a signed arrival's time from now", standardwebhooks.Tolerance),
		{"inbox", "the arrivals in the inbox of an integration", inbox.Max, "arrivals"},
		span("inbox-kept", "the time for which an arrival stays in the inbox", inbox.Kept),
		span("repeat-known", "the time for which a repeated webhook is recognised", arrival.ReceiptKept),
		span("refusals-kept", "the time after the last one for which refused webhooks are counted", arrival.Kept),
		{"mapping-rules", "the rules of a mapping", mapping.MaxRules, "rules"},
		{"mapping-tests", "the tests of a mapping", trial.MaxTests, "tests"},
		{"mapping", "a mapping with its tests as JSON", mapping.MaxSize, "bytes"},
		{"selection-steps", "the work of a filter and a transformation for one event", mapping.MaxSteps, "steps"},
		{"tables", "the tables of an integration's configuration as JSON", connector.MaxTables, "bytes"},
		{"database-page", "the rows of a page of a sync of postgresql", postgresql.MaxRows, "rows"},
		{"database-row", "a row of postgresql", postgresql.MaxMessage, "bytes"},
		{"database-session", "all that a page of postgresql reads from its server", postgresql.MaxSession, "bytes"},
		{"database-value", "the characters of a value of postgresql", postgresql.MaxText, "characters"},
		span("database-query", "the time of a query of postgresql", postgresql.QueryTime),
		{"manifest", "the manifest of a connector as JSON", manifest.MaxSize, "bytes"},
		{"manifests", "the connectors that a company describes itself", integration.MaxManifests, "connectors"},
		{"manifests-enterprise", "the connectors that a company on the plan enterprise describes itself", integration.MaxManifestsOfEnterprise, "connectors"},
		{"manifest-integrations", "the integrations of a connector that a company describes itself", integration.MaxOfManifest, "integrations"},
		{"trial-pages", "the pages of a trial of a manifest", integrations.TrialPages, "pages"},
		{"inbound-webhooks", "the signed webhooks that a company receives in a minute", inbound.MaxAMinute, "webhooks"},
		{"actions", "the actions of an arrival", connector.MaxActions, "actions"},

		{"event-payload", "an event's payload", event.MaxPayload, "bytes"},
		span("first-attempt", "the first attempt of a delivery", post.FirstTimeout),
		span("later-attempt", "a later attempt of a delivery", post.RetryTimeout),
		{"line", "the deliveries about one record that wait for an ordered endpoint; later ones are held", deliveries.MaxLine, "deliveries"},
		{"attempts-kept", "the attempts that a delivery keeps, the newest", deliveries.MaxAttempts, "attempts"},
		span("overdue", "the lateness of an attempt from which a recovery repeats it", deliveries.OverdueAfter),
		span("delivery-kept", "the time for which a delivery and a recovery are kept", deliveries.Kept),

		{"policies", "the policies of a company", policy.MaxStatements, "policies"},
		{"policy", "one policy", policy.MaxText, "bytes"},
		{"policies-text", "all policies of a company", policy.MaxTexts, "bytes"},
		span("decision-kept", "the time for which a decision is kept", policy.Kept),
		{"mails-hour", "the mails to one person in an hour; the rest comes in one", notice.PerHour, "mails"},
		{"mails-month-free", "the mails of a company on the plan free in a month", int64(notice.Monthly("free")), "mails"},
		{"mails-month-pro", "the mails of a company on the plan pro in a month", int64(notice.Monthly("pro")), "mails"},
		{"mails-month-enterprise", "the mails of a company on the plan enterprise in a month", int64(notice.Monthly("enterprise")), "mails"},
		{"invitations-day", "the invitations that are mailed for a company in a day", notice.InvitesPerDay, "mails"},
		{"invitations-address", "the invitations that are mailed to one address for a company in a day", notice.InvitesPerAddress, "mails"},
		{"slack-hour", "the alerts in a company's Slack channel in an hour; the rest comes in one message", notice.PerHour, "messages"},
		{"channel-tests", "the test messages of one channel of a company in an hour", notice.TestsPerHour, "messages"},
		span("slack-code", "the time in which a code links a user of Slack", notice.SlackCodeLifetime),
		span("slack-signature", "the distance of the time of a request of Slack from now", slack.Tolerance),
		{"slack-installations", "the ends of installations of the Slack app that one network brings in a minute", operations.MaxInstalls, "installations"},
		span("notices-kept", "the time for which a notice is kept", notice.Kept),
		span("approval", "the time in which an approval is decided", approval.Waits),
		span("approval-kept", "the time for which an approval is kept", approval.Kept),
		{"own-goals", "the open goals of a company's own", goal.MaxOwn, "goals"},
		{"sourced-goals", "the goals of a company's own that one integration measures", goal.MaxSourced, "goals"},
		span("goal-history", "the time for which a goal's values are kept", goal.HistoryDays*24*time.Hour),
		{"clients", "the clients of a company", client.MaxPerCompany, "clients"},
		{"grants", "the third parties' grants of a company", grant.MaxPerCompany, "grants"},
		{"grants-of-a-user", "the third parties' grants of one user; one more ends that which was used longest ago", grant.MaxPerUser, "grants"},
		span("grant-code", "the time in which the code of a consent is exchanged", grant.CodeLifetime),
		span("grant-idle", "the time for which a third party's access goes on without a new token", grant.Idle),
		span("grant-lifetime", "the time after which a third party asks a person again", grant.Lifetime),
		{"client-documents", "the documents of third parties that are read for one network in a minute", auth.MaxClientDocuments, "documents"},
		{"client-document", "a third party's document", auth.MaxClientDocument, "bytes"},
		{"revocations", "the tokens of a user or of a client that are ended by themselves within an hour", user.MaxEndedTokens, "tokens"},
		{"client-keys", "the keys that a client registers at once", client.MaxKeys, "keys"},
		{"client-networks", "the networks of a client", client.MaxNetworks, "networks"},
		span("client-overlap", "the time for which a client's replaced secret or key goes on", client.Overlap),
		span("client-assertion", "the time ahead of now at which an assertion that a client signs ends", assertion.MaxLifetime),
		{"executives", "the executives of a company", executive.MaxPerCompany, "executives"},
		{"executive-default-quota", "the actions of an executive in a day, without a quota of its own", executive.DefaultQuota, "actions"},
		{"executive-quota", "the actions of an executive in a day, by its quota", executive.MaxQuota, "actions"},
		span("executive-certification", "the time for which an executive stays certified", executive.CertifiedFor),
		span("executive-action-kept", "the time for which an action of an executive is kept", executive.Kept),
		span("executive-key", "the time for which a repeat of an executive's action is recognised", executive.MarkKept),

		{"sync-skipped", "the reasons that a sync gives for the items that it has left out", syncrun.MaxSkipped, "reasons"},
		{"sync-warnings", "the warnings of a sync", syncrun.MaxWarnings, "warnings"},
		{"sync-preview", "the items that a sync in the sandbox shows", syncrun.MaxPreview, "items"},
		{"sync-missed", "the items that a full sync of a list with numbered pages leaves to the next one to remove", syncrun.MaxMissed, "items"},
		{"sync-removal", "the items of an integration from which on a full sync asks before it removes more than half of them", syncrun.ManyItems, "items"},
		span("sync-confirmation", "the time for which a sync waits for a user before it ends without removing anything", syncrun.Await),
		span("sync-kept", "the time for which a sync is kept", syncrun.Kept),
		span("timeline-kept", "the time for which an entry of the timeline is kept", timeline.Kept),
		span("goal-explanation", "the time for which a founder's note explains a goal", goal.MaxExplanation),
		span("dismissal", "the time for which a recommendation stays dismissed", recommendation.MaxDismissal),
		span("claim", "the time for which a recommendation stays claimed", recommendation.ClaimLasts),
		{"dismissal-text", "the text of a dismissal", recommendation.MaxText, "characters"},
		span("recommendation-kept", "the time for which a recommendation is kept after its condition ended", recommendation.Kept),
		span("goal-stale", "the time without a change after which the work on a goal is stale", goal.StaleAfter),
		{"context-goals", "the open goals that a context lists", projection.MaxGoals, "goals"},
		{"brief-changes", "the entries of the timeline that a brief takes into account", assessment.MaxChanges, "entries"},
		{"timeline-filter", "a filter of the timeline", timeline.MaxFilter, "bytes"},
	}
	for _, plan := range usagekey.Plans() {
		t := usagekey.Tiers()[plan]
		limits = append(
			limits,
			Limit{"plan-" + plan + "-second", "the requests a second on the plan " + plan, int64(t.Rate), "requests"},
			Limit{"plan-" + plan + "-burst", "the requests at once on the plan " + plan, int64(t.Burst), "requests"},
			Limit{"plan-" + plan + "-day", "the requests a day on the plan " + plan, int64(t.Day), "requests"},
			Limit{"plan-" + plan + "-agent-second", "the requests a second of one agent on the plan " + plan, int64(t.Agent().Rate), "requests"},
			Limit{"plan-" + plan + "-agent-burst", "the requests at once of one agent on the plan " + plan, int64(t.Agent().Burst), "requests"},
			Limit{"plan-" + plan + "-agent-day", "the requests a day of one agent on the plan " + plan, int64(t.Agent().Day), "requests"},
		)
	}
	return limits
}

// documentLimits adds the limits to the document, as info.x-limits.
func documentLimits(doc *huma.OpenAPI) {
	if doc.Info.Extensions == nil {
		doc.Info.Extensions = map[string]any{}
	}
	doc.Info.Extensions["x-limits"] = Limits()
}
