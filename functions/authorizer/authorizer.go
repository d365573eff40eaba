// Package authorizer admits a bearer token to its own company's routes, before the gateway calls a function.
//
// The answer depends on the token alone, never on the path of the request, because API Gateway caches it for the token's
// other requests. A cached answer for one path only would refuse the token's next path.
//
// The authorizer does not read whether a token was ended (see user.Sessions), because a cached answer would outlive the
// ending. The function behind the gateway reads it for each request that the gateway admits.
package authorizer

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/base/metric"
	"orgops/shared/identity/token"
	"orgops/shared/identity/usagekey"
)

// Request holds API Gateway's event for a TOKEN authorizer.
type Request struct {
	Type               string `json:"type"` // TOKEN
	AuthorizationToken string `json:"authorizationToken"`
	MethodARN          string `json:"methodArn"` // arn:aws:execute-api:REGION:ACCOUNT:API/STAGE/METHOD/PATH
}

// Answer holds what API Gateway expects from an authorizer.
type Answer struct {
	PrincipalID        string            `json:"principalId"`
	PolicyDocument     Policy            `json:"policyDocument"`
	Context            map[string]string `json:"context"`
	UsageIdentifierKey string            `json:"usageIdentifierKey"`
}

// Policy holds an IAM policy.
type Policy struct {
	Version   string      `json:"Version"`
	Statement []Statement `json:"Statement"`
}

// Statement holds one statement of a Policy.
type Statement struct {
	Action   []string `json:"Action"`
	Effect   string   `json:"Effect"`
	Resource []string `json:"Resource"`
}

// ErrUnauthorized makes API Gateway answer 401. API Gateway recognises this exact text only.
var ErrUnauthorized = errors.New("Unauthorized")

// Authorizer answers requests. All fields are required except Metrics.
type Authorizer struct {
	// Verify returns the claims of a valid token. An error of a kind other than fault.Unauthenticated means that the token
	// could not be checked.
	Verify func(ctx context.Context, text string) (token.Claims, error)
	Logger *slog.Logger
	// Metrics counts the tokens that could not be checked. Lambda's own count of errors does not show them, because it includes
	// ErrUnauthorized.
	Metrics *metric.Recorder
}

// Handle returns the policy of a valid token, and ErrUnauthorized for an invalid or missing one.
func (a *Authorizer) Handle(ctx context.Context, r Request) (Answer, error) {
	word, text, _ := strings.Cut(r.AuthorizationToken, " ")
	if r.Type != "TOKEN" || !strings.EqualFold(word, "Bearer") {
		return Answer{}, ErrUnauthorized
	}
	stage, ok := stageOf(r.MethodARN)
	if !ok {
		return Answer{}, errors.New("methodArn is not the ARN of a method; invoke the function as a TOKEN authorizer")
	}
	claims, err := a.Verify(ctx, strings.TrimLeft(text, " "))
	if fault.KindOf(err) == fault.Unauthenticated {
		a.Logger.InfoContext(ctx, "token refused", "reason", err)
		return Answer{}, ErrUnauthorized
	}
	if err != nil {
		a.Metrics.Count(metric.AuthorizerFailures, 1)
		return Answer{}, err
	}
	company := stage + "/*/companies/" + claims.Company // an id contains no character that a policy treats as a wildcard
	return Answer{
		PrincipalID: claims.Subject,
		PolicyDocument: Policy{Version: "2012-10-17", Statement: []Statement{{
			Action: []string{"execute-api:Invoke"}, Effect: "Allow",
			Resource: append([]string{company, company + "/*"}, ownOperations(stage)...),
		}}},
		Context:            contextOf(claims),
		UsageIdentifierKey: usageKey(stage, claims),
	}, nil
}

// usageKey returns the key by which the gateway counts a request: the company's own, or the shared key of the companies whose
// plan needs none. stage is the first part of a method's ARN, which ends in the API's id and the stage.
func usageKey(stage string, claims token.Claims) string {
	if usagekey.NeedsKey(claims.Plan) {
		return usagekey.Of(claims.Company, claims.Plan)
	}
	api, _, _ := strings.Cut(stage[strings.LastIndex(stage, ":")+1:], "/")
	return usagekey.Shared(api)
}

// contextOf returns what the gateway knows of the caller. It has the plan's limits as RateLimit-Policy lists them, for the gateway's
// answers of 429 (draft-ietf-httpapi-ratelimit-headers-10).
func contextOf(claims token.Claims) map[string]string {
	of := map[string]string{
		"subject": claims.Subject, "company": claims.Company, "scope": strings.Join(claims.Scopes, " "), "plan": claims.Plan,
	}
	if policy := usagekey.Policy(claims.Plan); policy != "" {
		of["ratePolicy"] = policy
	}
	return of
}

// ownOperations returns the operations on the caller's own password and sessions, which are outside of a company's path.
func ownOperations(stage string) []string {
	return []string{stage + "/*/auth/consent", stage + "/*/auth/factors", stage + "/*/auth/factors/*", stage + "/POST/auth/recovery-codes", stage + "/POST/auth/password", stage + "/POST/auth/sign-out"}
}

// stageOf returns the part of a method's ARN that names the API and its stage.
func stageOf(arn string) (string, bool) {
	api, rest, ok := strings.Cut(arn, "/")
	stage, _, more := strings.Cut(rest, "/")
	return api + "/" + stage, ok && more && strings.HasPrefix(arn, "arn:") && stage != "" && !strings.ContainsAny(api+stage, "*?")
}
