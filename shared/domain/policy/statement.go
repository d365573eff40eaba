package policy

// Mode says what a policy of a company does.
type Mode string

// The modes.
const (
	Enforce Mode = "enforce"  // the policy decides
	LogOnly Mode = "log-only" // shadow mode: each decision also records what the verdict would be with the policy
)

// Statement holds one Cedar policy of a company.
type Statement struct {
	ID   string `json:"id" minLength:"1" maxLength:"64" pattern:"^[a-z0-9]+(-[a-z0-9]+)*$" patternDescription:"small letters and digits, with single hyphens between them" doc:"names the policy in decisions" example:"no-closed-goals"`
	Mode Mode   `json:"mode" enum:"enforce,log-only" doc:"enforce: the policy decides; log-only: decisions only record what the verdict would be with it"`
	Text string `json:"text" minLength:"1" maxLength:"8192" doc:"one policy in Cedar, with a permit or a forbid" example:"forbid (principal, action == Action::\"goal.update\", resource) when { resource.state == \"closed\" };"`
}

// Limits of a company's policies.
const (
	MaxStatements = 100
	MaxText       = 8 << 10  // bytes of one policy
	MaxTexts      = 64 << 10 // bytes of all policies of a company
)
