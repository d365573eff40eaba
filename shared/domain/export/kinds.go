package export

// Kind says whether the items of an entity are exported.
type Kind struct {
	Entity string
	Not    string // why they are not; "": they are
}

// Kinds lists the entities of a company's items. An entity that is not in the list is not exported, so that no secret gets
// out because a new entity was forgotten here.
func Kinds() []Kind {
	const (
		secret    = "holds secrets, which no operation shows"
		technical = "serves one request or worker for a moment, and means nothing elsewhere"
	)
	return []Kind{
		{Entity: "approval"}, {Entity: "audit"}, {Entity: "certification"}, {Entity: "client"}, {Entity: "company"}, {Entity: "context"}, {Entity: "decision"},
		{Entity: "delivery"}, {Entity: "executive"}, {Entity: "executive-action"}, {Entity: "goal"}, {Entity: "goal-explanation"}, {Entity: "goal-history"},
		{Entity: "inbox"}, {Entity: "integration"}, {Entity: "manifest"}, {Entity: "mapping"}, {Entity: "memory"}, {Entity: "noted"}, {Entity: "notice-preferences"}, {Entity: "policies"}, {Entity: "receipt"},
		{Entity: "recommendation"}, {Entity: "recovery"}, {Entity: "sso"}, {Entity: "sync"}, {Entity: "timeline"}, {Entity: "user"},

		{"client-secret", secret},
		{"credential", secret},
		{"grant", secret},
		{"grant-code", secret},
		{"idempotency", "holds answers, some of which show a secret once"},
		{"invitation", secret},
		{"key", secret},
		{"login", secret},
		{"notice", "holds single-use codes until they are sent; list-notices shows the rest"},
		{"notice-channel", secret},
		{"person", "holds the password of a person, who may belong to other companies too"},
		{"reset", secret},
		{"revocation", secret},
		{"slack-code", secret},
		{"slack-link", "leads from a person's user of Slack, for one installation of the service"},
		{"sso-secret", secret},

		{"advice", technical},
		{"approval-mark", technical},
		{"bounds", technical},
		{"challenge", technical},
		{"client-assertion", technical},
		{"client-use", technical},
		{"connect-try", technical},
		{"context-due", technical},
		{"context-pending", technical},
		{"context-rebuild", technical},
		{"context-touched", technical},
		{"ended", technical},
		{"erasure", "is the receipt of an erasure, and belongs to the operator of the service"},
		{"executive-key", technical},
		{"executive-quota", technical},
		{"feed-position", technical},
		{"gate", technical},
		{"import", technical},
		{"inbound-rate", technical},
		{"halt", "repeats, for the guard, that the company is suspended"},
		{"line", technical},
		{"notice-box", technical},
		{"notice-count", technical},
		{"notice-invites", technical},
		{"pace", technical},
		{"parked", "belongs to the operator of the service, outside of the companies"},
		{"refusals", technical},
		{"registry", "repeats the company's item for the operator"},
		{"selected", technical},
		{"sending", technical},
		{"spread", "tells where items lie, which each store decides for itself"},
		{"slack-copies", technical},
		{"slack-install", technical},
		{"slack-press", technical},
		{"sso-assertion", technical},
		{"sso-code", technical},
		{"sso-try", technical},
		{"sync-seen", technical},
		{"sync-slot", technical},
		{"timer", technical},
		{"trial", technical},
		{"tries", technical},
	}
}

// exported returns the entities whose items are exported.
func exported() map[string]bool {
	all := map[string]bool{}
	for _, k := range Kinds() {
		all[k.Entity] = k.Not == ""
	}
	return all
}
