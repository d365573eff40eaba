// Package authorizer admits a bearer token to its own company's routes, before a function is asked.
//
// Its answer follows from the token alone, never from the path of the request, because the gateway keeps it and uses it
// for the token's other requests too: an answer for the path would refuse the next one, or admit it to everything.
package authorizer

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"orgops/shared/fault"
	"orgops/shared/metric"
	"orgops/shared/token"
	"orgops/shared/usagekey"
)

// Request is API Gateway's event of a TOKEN authorizer.
type Request struct {
	Type               string `json:"type"` // TOKEN
	AuthorizationToken string `json:"authorizationToken"`
	MethodARN          string `json:"methodArn"` // arn:aws:execute-api:REGION:ACCOUNT:API/STAGE/METHOD/PATH
}

// Answer is what API Gateway takes.
type Answer struct {
	PrincipalID        string            `json:"principalId"`
	PolicyDocument     Policy            `json:"policyDocument"`
	Context            map[string]string `json:"context"`
	UsageIdentifierKey string            `json:"usageIdentifierKey"`
}

// Policy is an IAM policy.
type Policy struct {
	Version   string      `json:"Version"`
	Statement []Statement `json:"Statement"`
}

// Statement is one of its statements.
type Statement struct {
	Action   []string `json:"Action"`
	Effect   string   `json:"Effect"`
	Resource []string `json:"Resource"`
}

// ErrUnauthorized is the text that makes API Gateway answer 401. It takes no other.
var ErrUnauthorized = errors.New("Unauthorized")

// Authorizer answers requests. All fields are required but Metrics.
type Authorizer struct {
	// Verify is the claims of a good token. An error of another kind than fault.Unauthenticated says that nobody can tell.
	Verify func(ctx context.Context, text string) (token.Claims, error)
	Logger *slog.Logger
	// Metrics says how often nobody could tell, which Lambda's own count of errors does not: ErrUnauthorized is one too.
	Metrics *metric.Recorder
}

// Handle is ErrUnauthorized for a token that is not good, and for none.
func (a *Authorizer) Handle(ctx context.Context, r Request) (Answer, error) {
	word, text, _ := strings.Cut(r.AuthorizationToken, " ")
	if r.Type != "TOKEN" || !strings.EqualFold(word, "Bearer") {
		return Answer{}, ErrUnauthorized
	}
	stage, ok := stageOf(r.MethodARN)
	if !ok {
		return Answer{}, errors.New("methodArn is not the ARN of a method")
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
	company := stage + "/*/companies/" + claims.Company // an id holds no character that a policy reads as a pattern
	return Answer{
		PrincipalID: claims.Subject,
		PolicyDocument: Policy{Version: "2012-10-17", Statement: []Statement{{
			Action: []string{"execute-api:Invoke"}, Effect: "Allow", Resource: []string{company, company + "/*"},
		}}},
		Context: map[string]string{
			"subject": claims.Subject, "company": claims.Company, "scope": strings.Join(claims.Scopes, " "), "plan": claims.Plan,
		},
		UsageIdentifierKey: usagekey.Of(claims.Company),
	}, nil
}

// stageOf is the part of a method's ARN that names the API and its stage.
func stageOf(arn string) (string, bool) {
	api, rest, ok := strings.Cut(arn, "/")
	stage, _, more := strings.Cut(rest, "/")
	return api + "/" + stage, ok && more && strings.HasPrefix(arn, "arn:") && stage != "" && !strings.ContainsAny(api+stage, "*?")
}
