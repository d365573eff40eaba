package functions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/web"
)

// enumeration names a list of values that several schemas share, so that a generated client has one type for it.
type enumeration struct {
	name, values, about string
}

func enumerations() []enumeration {
	return []enumeration{
		{"AssessmentStatus", "pass,warn,fail,unknown", "The outcome of an assessment; unknown if too few facts are known"},
		{"AlignmentStatus", "aligned,drifting,misaligned", "Whether an open goal will be reached in time"},
		{"ApprovalState", "pending,approved,rejected,expired,withdrawn", "The state of an approval: expired if no user decided within 24 hours"},
		{"CheckStatus", "pass,warn,fail,unknown,not-applicable", "The outcome of a check; unknown if too few facts are known, which a certification never answers"},
		{"ConnectorAction", "memory.upsert,goal.update,timeline.note", "Something that a connector may ask for"},
		{"DeliveryState", "delivered,scheduled,waiting,held,failed,dead", "The state of a delivery: dead if its last attempt failed, held until it is recovered, waiting while an earlier one of its line has not ended"},
		{"RecoveryOnly", "dead,held,waiting", "Which deliveries a recovery sends: dead letters, those that were held because the company was suspended, or those that waited for the end of a pause"},
		{"DisableReason", "manual,gone,failing,imported", "Who disabled an integration: a user (manual), the endpoint with a 410 (gone), the service after days of failures (failing), or an import, which brings no secrets (imported)"},
		{"FactorKind", "totp,passkey", "A kind of second factor: an authenticator app (RFC 6238), or a passkey of a device or a security key (WebAuthn)"},
		{"ExpiringTerm", "certification,credentials", "What of an integration is about to expire"},
		{"EndpointState", "paused,disabled,active", "Whether an endpoint gets events"},
		{"ExecutiveAction", "memory.sync,recommendation.claim,recommendation.dismiss,integration.disable,timeline.note,goal.note,deliveries.recover", "Something that an executive may ask for"},
		{"ExecutiveActionState", "proposed,pending,done,denied,rejected,expired,withdrawn", "What became of an executive's action: proposed if it was only tried, pending while it waits for an approval"},
		{"DismissalReason", "not-applicable,accepted-risk,other-method,low-priority,planned,other", "Why a user dismissed a recommendation"},
		{"GoalState", "open,closed", "Whether a goal is still worked on"},
		{"GoalStall", "blocked,stale", "Why the work on a goal does not go on: an item is blocked, or none has changed for 14 days"},
		{"HoldReason", "sandbox,disabled,deleted,configuration,suspended,line,filter,transform", "Why a delivery is held: the state of its integration when the event happened, a line that was full, or a filter or a transformation that failed"},
		{"KeyAlgorithm", "EdDSA,ES256,RS256", "The only algorithm that a client's key is used with"},
		{"KeyCurve", "Ed25519,P-256", "The curve of a client's key"},
		{"KeyType", "OKP,EC,RSA", "The kind of a client's key"},
		{"BriefDay", "monday,tuesday,wednesday,thursday,friday,saturday,sunday", "A day on which a brief comes"},
		{"EmptyBrief", "skip,send", "Whether a brief comes when nothing has changed since the one before"},
		{"NoticeChannel", "mail,slack", "A way by which notices go"},
		{"SecurityChannel", "mail", "The way by which notices about a person's own access go"},
		{"SlackKind", "approval,alert,brief", "What the company's Slack channel is told"},
		{"NoticeKind", "security,approval,alert,brief", "What a notice is about; a person's preferences decide by it"},
		{"NoticeState", "waiting,sent,failed,omitted", "What became of a notice: waiting until it is due, omitted if there was a reason not to send it"},
		{"IntegrationStanding", "current,deleted", "Whether the integration that imported an item exists, or was deleted since"},
		{"IntegrationState", "sandbox,certified", "Whether an integration or an executive is certified"},
		{"MeasureAggregate", "last,sum,count,min,max,avg", "What becomes of the numbers of all records of a list"},
		{"MeasureDirection", "up,down", "Which way a number must go to reach its target"},
		{"MappingSource", "default,company", "Which mapping applies: the provider's default, or the company's"},
		{"ActionOutcome", "created,updated,unchanged,refused,pending", "What an action changes; refused if the policy engine does not permit it, pending if it waits for an approval"},
		{"AuditOutcome", "success,failure,denied", "What came of a request: denied if the rights or the credentials did not allow it"},
		{"Priority", "P1,P2,P3,P4", "How urgent a recommendation is; P1 is the most urgent"},
		{"ReadScope", "mission-control:read,intelligence:read,integrations:read,memory:read,operations:read,executives:read", "A scope with which an executive may read"},
		{"ClientScope", "mission-control:read,intelligence:read,intelligence:write,integrations:read,memory:read,memory:write,operations:read,executives:read,executives:act", "A scope that a client may have"},
		{"RecommendationState", "active,claimed,succeeded,failed,dismissed", "What became of a recommendation; active and claimed are open"},
		{"RecoveryState", "requested,finished", "Whether every delivery of a recovery's window was sent again or is in the queue"},
		{"Role", "founder,member,operator,integration", "What a user does in the company; it decides the scopes of the user's tokens"},
		{"MailRefusal", "refused,bounced,complained", "Why no more mails go to a user"},
		{"SandboxReason", "configuration,expired,failing", "Why an integration returned to the sandbox"},
		{"Severity", "critical,high,medium,low,info", "How much a statement matters; info needs no action"},
		{"SSODefaultRole", "member,operator,none", "The role of a user to whom no entry of the role mapping applies; none if such a user is refused"},
		{"SSOProtocol", "oidc,saml", "How an identity provider proves who a user is"},
		{"SyncExtent", "incremental,full", "Whether a sync fetches only what changed since the last one, or everything"},
		{"SyncMode", "sandbox,live", "Whether a sync stores what it fetches"},
		{"SyncState", "requested,running,awaiting-confirmation,succeeded,failed,cancelled", "The state of a sync"},
		{
			"TimelineKind", "integration.configured,integration.certified,integration.sandboxed,integration.disabled,memory.synced," +
				"goal.updated,goal.alignment.changed,policy.denied,approval.requested,approval.decided,executive.acted,note,brief,client.created,client.rotated,client.deleted,access.given,access.ended", "What an entry of the timeline is about",
		},
		{"WaitReason", "failing,retry-after,schedule,backlog,line", "Why a delivery waits: its endpoint is paused (failing, retry-after), its attempt is due later (schedule) or late (backlog), or an earlier delivery of its line has not ended (line)"},
		{"TokenEndpoint", "api,mcp", "What a third party's tokens open: the API, or the MCP endpoint"},
		{"SelectionVerdict", "matched,filtered,failed", "What a filter and a transformation make of an event: failed if the event would be held"},
		{"Work", "open,done,blocked", "How far a thing is that is work on a goal"},
		{"UserState", "active,invited,disabled", "Whether a user can log in"},
		{"Verdict", "permitted,denied,needs-approval", "Whether an automated action may happen"},
		{"WidgetKind", "score,count,series,list", "How to draw a widget of the dashboard"},
	}
}

// dropHidden removes the schemas that only hidden members of the context use.
func dropHidden(doc *huma.OpenAPI) {
	for _, name := range []string{"Position", "Rebuilding", "SizeStep"} {
		delete(doc.Components.Schemas.Map(), name)
	}
}

// describeSchemas writes the description of each schema into the document.
func describeSchemas(doc *huma.OpenAPI) {
	for name, about := range descriptions() {
		if s := doc.Components.Schemas.Map()[name]; s != nil {
			s.Description = about
		}
	}
}

// extendPatterns writes what a pattern means as an extension, because OpenAPI has no such keyword. The messages about values
// that do not match were made before.
func extendPatterns(doc *huma.OpenAPI) {
	for _, s := range doc.Components.Schemas.Map() {
		for _, property := range s.Properties {
			extendPattern(property)
		}
	}
	for _, op := range web.OperationsOf(doc) {
		for _, p := range op.Parameters {
			extendPattern(p.Schema)
		}
	}
}

func extendPattern(s *huma.Schema) {
	if s.PatternDescription == "" {
		return
	}
	if s.Extensions == nil {
		s.Extensions = map[string]any{}
	}
	s.Extensions["x-pattern-description"], s.PatternDescription = s.PatternDescription, ""
}

// nameEnumerations adds each enumeration that is used to the document as a component, and replaces each use by a reference.
func nameEnumerations(doc *huma.OpenAPI) {
	named := map[string]enumeration{}
	schemas := doc.Components.Schemas.Map()
	bodies := slices.Collect(maps.Values(schemas))
	for _, e := range enumerations() {
		var values []any
		for v := range strings.SplitSeq(e.values, ",") {
			values = append(values, v)
		}
		named[fmt.Sprint(values)] = e
	}
	refer := func(s *huma.Schema) *huma.Schema {
		e, ok := named[fmt.Sprint(s.Enum)]
		if !ok {
			return s
		}
		schemas[e.name] = &huma.Schema{Type: huma.TypeString, Enum: s.Enum, Description: e.about}
		schemas[e.name].PrecomputeMessages() // a request is checked against it too
		return &huma.Schema{Ref: web.ComponentRef(e.name), Description: s.Description}
	}
	for _, body := range bodies {
		for name, property := range body.Properties {
			if property.Items != nil {
				property.Items = refer(property.Items)
			}
			body.Properties[name] = refer(property)
		}
	}
	for _, op := range web.OperationsOf(doc) {
		for _, p := range op.Parameters {
			p.Schema = refer(p.Schema)
		}
	}
}
