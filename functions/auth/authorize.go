package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/domain/client"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/web"
)

// MaxClientDocuments bounds how many documents of third parties are read for one network in a minute.
const MaxClientDocuments = 60

// AuthorizationRequest holds the parameters of an authorization request (RFC 6749 §4.1.1, RFC 7636 §4.3, RFC 8707 §2).
type AuthorizationRequest struct {
	ResponseType string `query:"response_type" json:"response_type,omitempty" maxLength:"50" doc:"code" example:"code"`
	ClientID     string `query:"client_id" json:"client_id" maxLength:"2048" doc:"The https address of the third party's Client ID Metadata Document" example:"https://agent.example.com/client.json"`
	Redirect     string `query:"redirect_uri" json:"redirect_uri" maxLength:"2048" doc:"Where the authorization ends: one of the document's redirect_uris, exactly; of a loopback address the port may differ" example:"http://127.0.0.1:33418/callback"`
	Scope        string `query:"scope" json:"scope,omitempty" maxLength:"500" doc:"The scopes that are wanted, separated by spaces; those that a third party cannot have are left out. Absent: all that it can have" example:"intelligence:read"`
	State        string `query:"state" json:"state,omitempty" maxLength:"1024" doc:"Given back at the end; bind it to the browser" example:"af0ifjsldkj"`
	Challenge    string `query:"code_challenge" json:"code_challenge,omitempty" maxLength:"128" doc:"The S256 challenge of a verifier that the third party keeps (RFC 7636 §4.2)" example:"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"`
	Method       string `query:"code_challenge_method" json:"code_challenge_method,omitempty" maxLength:"50" doc:"S256" example:"S256"`
	Resource     string `query:"resource" json:"resource,omitempty" maxLength:"500" doc:"What the tokens are for (RFC 8707): the address of a company's MCP endpoint, or of the service. Absent: the API" example:"https://api.example.com/companies/0197a0b4-6c1e-7c3e-9a57-3f1f0d6f2c11/mcp"`
}

const challengePattern text.Pattern = `^[A-Za-z0-9_-]{43}$`

// refusal is an error that the third party is told by leading the browser back to it (RFC 6749 §4.1.2.1).
type refusal struct{ code, detail string }

func (r refusal) Error() string { return r.detail }

// wanted is an authorization request whose third party and redirect are known.
type wanted struct {
	AuthorizationRequest
	document  clientDocument
	companyID string   // whose MCP endpoint it is for; "": the API of the company that the person chooses
	scopes    []string // that it asks for and that a third party can have
}

// want checks an authorization request. It returns a refusal only once the redirect is known to be the third party's: before that, nothing
// leads a browser to it.
func (d Deps) want(ctx context.Context, r AuthorizationRequest) (wanted, error) {
	w := wanted{AuthorizationRequest: r}
	if len(d.Issuers) == 0 {
		return w, errNoAddress()
	}
	var err error
	if w.document, err = d.documents.get(ctx, r.ClientID); err != nil {
		return w, err
	}
	if !w.document.leads(r.Redirect) {
		return w, fault.Refuse([]fault.FieldError{{Pointer: "#/query/redirect_uri", Detail: "is not one of the document's redirect_uris, or neither https nor on the person's own machine; compare every character"}})
	}
	switch {
	case len(r.State) > 1024 || len(r.Scope) > 500 || len(r.Resource) > 500:
		return w, refusal{"invalid_request", "state may have 1,024 bytes, scope and resource 500"}
	case r.ResponseType != "code":
		return w, refusal{"unsupported_response_type", "response_type must be code"}
	case r.Method != "S256" || !challengePattern.Matches(r.Challenge):
		return w, refusal{"invalid_request", "PKCE is needed: code_challenge_method S256 and its code_challenge"}
	}
	of, ok := d.companyOf(r.Resource)
	if !ok {
		return w, refusal{"invalid_target", "resource is neither an MCP endpoint of the service nor the service"}
	}
	w.companyID, w.scopes = of, scopesFor(r.Scope)
	if len(w.scopes) == 0 {
		return w, refusal{"invalid_scope", "a third party can have none of the scopes"}
	}
	return w, nil
}

// companyOf returns the company whose MCP endpoint a resource is, and "" for the API.
func (d Deps) companyOf(resource string) (companyID string, ok bool) {
	if resource == "" || slices.Contains(d.Issuers, resource) {
		return "", true
	}
	for _, base := range d.Issuers {
		rest, found := strings.CutPrefix(resource, base+"/companies/")
		companyID, _, _ = strings.Cut(rest, "/")
		if found && resource == token.MCPResource(base, companyID) && companyID != "" {
			return companyID, true
		}
	}
	return "", false
}

// scopesFor returns the scopes of a request that a third party can have: what a client can have, and to act as an executive. Like a
// client, it never configures, certifies, approves or manages.
func scopesFor(asked string) []string {
	all := append(client.Grantable(), user.ScopeExecutivesAct)
	if asked == "" {
		return all
	}
	names := strings.Fields(asked)
	return slices.DeleteFunc(all, func(scope string) bool { return !slices.Contains(names, scope) })
}

type authorizeInput struct{ AuthorizationRequest }

// leadOutput leads the browser on.
type leadOutput struct {
	Status         int
	Location       string `header:"Location" doc:"where the browser goes: the console's consent page, or back to the third party with an error"`
	CacheControl   string `header:"Cache-Control"`
	ReferrerPolicy string `header:"Referrer-Policy"`
}

// authorize leads a person to the console's consent page, with a request that is good so far. Nothing is stored before the person consents.
func (d Deps) authorize(ctx context.Context, in *authorizeInput) (*leadOutput, error) {
	w, err := d.want(ctx, in.AuthorizationRequest)
	out := &leadOutput{Status: http.StatusFound, CacheControl: "no-store", ReferrerPolicy: "no-referrer"}
	if refused := (refusal{}); errors.As(err, &refused) {
		out.Location = d.back(w, url.Values{"error": {refused.code}, "error_description": {refused.detail}})
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.Location = d.Issuers[0] + "/console/index.html#/authorize?" + w.query().Encode()
	return out, nil
}

// query returns the parameters of a request, without those that are absent.
func (r AuthorizationRequest) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"response_type": r.ResponseType, "client_id": r.ClientID, "redirect_uri": r.Redirect, "scope": r.Scope, "state": r.State,
		"code_challenge": r.Challenge, "code_challenge_method": r.Method, "resource": r.Resource,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// back returns where the authorization ends, with the state and the issuer, by which a third party tells a mixed-up answer (RFC 9207).
func (d Deps) back(w wanted, answer url.Values) string {
	answer.Set("iss", d.Issuers[0])
	if w.State != "" {
		answer.Set("state", w.State)
	}
	u, err := url.Parse(w.Redirect)
	if err != nil { // want has parsed it
		return ""
	}
	q := u.Query()
	for name, values := range answer {
		q[name] = values
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// bound refuses a consent for the MCP endpoint of another company than the person's own.
func (w wanted) bound(ctx context.Context) error {
	if w.companyID != "" && w.companyID != web.CallerOf(ctx).Company {
		return fault.New(fault.Forbidden, "the request is for another company than the one you are in; switch to it, or log in there")
	}
	return nil
}
