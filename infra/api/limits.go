package api

import (
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/jsii-runtime-go"
)

// rate holds a throttle: requests a second, and how many at once.
type rate struct{ rate, burst float64 }

// guarded returns the stage's default throttle. Every guarded method has it, and the ANY method of each path, which answers OPTIONS
// and 405. The gateway lists an ANY method by its single methods, so settings of ANY itself might not apply, and settings for each
// method of each path do not fit: UpdateStage takes about 80 values at a time.
func guarded() rate { return rate{1000, 2000} }

// public returns the throttle of a method that a stranger can call, unless publicLimits names it. A flood of one leaves the others and the
// companies' operations alone.
func public() rate { return rate{100, 200} }

// publicLimits returns the throttles of logins, of accepted invitations, of the ends of sign-ins and of webhooks.
//
// A login takes about 50 ms of a processor for the password's hash. Tokens last an hour, so 50 logins a second serve 180,000
// active users and need about five functions. During a flood of logins no new login succeeds, but users who are logged in can
// continue. Providers do not repeat a webhook that is refused, so the limit of webhooks is far above what all companies receive, and
// the function limits each company. A delivery with a bad signature costs about 20 ms and two reads.
func publicLimits() map[string]rate {
	return map[string]rate{
		"POST /auth/login":                     {50, 100},
		"POST /auth/invitation":                {50, 100},
		"POST /auth/token":                     {50, 100},
		"POST /auth/challenge":                 {50, 100},
		"POST /auth/reset":                     {50, 100},
		"POST /auth/reset/{code}":              {50, 100},
		"POST /auth/revoke":                    {50, 100},
		"GET /auth/authorize":                  {50, 100},
		"GET /auth/sso/callback":               {50, 100},
		"GET /auth/connect/callback":           guarded(), // the function limits each source before it reads
		"GET /auth/slack/callback":             guarded(), // the same
		"POST /auth/saml/{companyId}/acs":      {50, 100},
		"POST /inbound/{companyId}/{provider}": {5000, 5000},
		"POST /companies/{companyId}/mcp":      guarded(), // the function is its guard
		"POST /slack/interactions/{id}":        guarded(), // a request that Slack has not signed reads nothing
		"GET /auth/unsubscribe/{token}":        guarded(), // mail hosts send many clicks at once for their users, from few networks
		"POST /auth/unsubscribe/{token}":       guarded(), // the same
	}
}

// isDocument reports whether a public path answers what is the same for every caller and reads no table. It has the stage's limits, which each
// method counts for itself: a setting of its own would protect nothing, and the settings of all public methods would not fit into one
// update of a stage.
func isDocument(path string) bool {
	return slices.ContainsFunc([]string{".well-known/", "healthz", "problems/", "console"}, func(prefix string) bool {
		return strings.HasPrefix(strings.TrimPrefix(path, "/"), prefix)
	})
}

// methodSettings returns the settings of the stage, and those of each public method that is no document, which replace all of the stage's. Execution logs
// hold errors only. What a setting leaves out is off: the data trace, with which the logs would hold tokens and bodies, and metrics by
// method, which would cost five paid metrics for each method. The stage's metrics are free and sufficient. OPTIONS and other methods
// of a path, which need no token, have the stage's limits: their answers read nothing, and settings for each path would exceed what one
// update of a stage takes.
func methodSettings(groups []Group) []any {
	settings := []any{setting("*", "/*", guarded())}
	own := publicLimits()
	for _, g := range groups {
		for _, r := range g.Routes {
			if r.Guarded || isDocument(r.Path) {
				continue
			}
			limit, ok := own[r.Method+" "+r.Path]
			if !ok {
				limit = public()
			}
			if limit == guarded() { // as the stage's, which each method counts for itself
				continue
			}
			settings = append(settings, setting(r.Method, "/"+strings.ReplaceAll(r.Path, "/", "~1"), limit))
		}
	}
	return settings
}

func setting(method, path string, limit rate) any {
	return &awsapigateway.CfnStage_MethodSettingProperty{
		HttpMethod: &method, ResourcePath: &path, LoggingLevel: jsii.String("ERROR"),
		ThrottlingRateLimit: &limit.rate, ThrottlingBurstLimit: &limit.burst,
	}
}
