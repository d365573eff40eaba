package auth

import (
	"context"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/client"
	"orgops/shared/identity/token"
)

// ServerMetadata describes the authorization server (RFC 8414). It has the members that OpenID Connect Discovery 1.0 requires too, because
// a client finds it by that name if the service lies below a path.
type ServerMetadata struct {
	Issuer        string   `json:"issuer" format:"uri" doc:"iss of access tokens and of authorization answers" example:"https://api.example.com"`
	Authorization string   `json:"authorization_endpoint" format:"uri" doc:"where an authorization begins" example:"https://api.example.com/auth/authorize"`
	Token         string   `json:"token_endpoint" format:"uri" doc:"where tokens are given" example:"https://api.example.com/auth/token"`
	Revocation    string   `json:"revocation_endpoint" format:"uri" doc:"where a token is ended (RFC 7009)" example:"https://api.example.com/auth/revoke"`
	Keys          string   `json:"jwks_uri" format:"uri" doc:"the public keys that verify access tokens" example:"https://api.example.com/.well-known/jwks.json"`
	Scopes        []string `json:"scopes_supported" nullable:"false" doc:"the scopes that a third party can have" example:"[\"intelligence:read\"]"`
	ResponseTypes []string `json:"response_types_supported" nullable:"false" doc:"code alone" example:"[\"code\"]"`
	ResponseModes []string `json:"response_modes_supported" nullable:"false" doc:"query alone" example:"[\"query\"]"`
	Grants        []string `json:"grant_types_supported" nullable:"false" doc:"what the token endpoint takes" example:"[\"authorization_code\"]"`
	Methods       []string `json:"token_endpoint_auth_methods_supported" nullable:"false" doc:"how a client proves itself; a third party does not" example:"[\"none\"]"`
	Algorithms    []string `json:"token_endpoint_auth_signing_alg_values_supported" nullable:"false" doc:"the signatures of a client's assertion" example:"[\"EdDSA\"]"`
	Challenges    []string `json:"code_challenge_methods_supported" nullable:"false" doc:"S256 alone (RFC 7636)" example:"[\"S256\"]"`
	TellsIssuer   bool     `json:"authorization_response_iss_parameter_supported" doc:"true: an authorization answer has iss (RFC 9207)"`
	TakesDocument bool     `json:"client_id_metadata_document_supported" doc:"true: a client_id is the address of the client's document"`
	Subjects      []string `json:"subject_types_supported" nullable:"false" doc:"required of such a document; the service gives no ID tokens" example:"[\"public\"]"`
	IDTokens      []string `json:"id_token_signing_alg_values_supported" nullable:"false" doc:"required of such a document; the service gives no ID tokens" example:"[\"EdDSA\"]"`
}

type serverMetadataOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         ServerMetadata
}

const documentsCached = "public, max-age=300"

func (d Deps) getServerMetadata(context.Context, *struct{}) (*serverMetadataOutput, error) {
	if len(d.Issuers) == 0 {
		return nil, errNoAddress()
	}
	base := d.Issuers[0]
	return &serverMetadataOutput{documentsCached, ServerMetadata{
		Issuer: base, Authorization: base + "/auth/authorize", Token: base + "/auth/token", Revocation: base + "/auth/revoke", Keys: base + "/.well-known/jwks.json",
		Scopes: client.Grantable(), ResponseTypes: []string{"code"}, ResponseModes: []string{"query"},
		Grants:      []string{grantCode, grantRefresh, grantCredentials, grantExchange},
		Methods:     []string{"none", "client_secret_basic", "client_secret_post", "private_key_jwt"},
		Algorithms:  []string{"EdDSA", "ES256", "RS256"},
		Challenges:  []string{"S256"},
		TellsIssuer: true, TakesDocument: true, Subjects: []string{"public"}, IDTokens: []string{"EdDSA"},
	}}, nil
}

func errNoAddress() error {
	return fault.New(fault.NotFound, "the service does not know its own address; set ORGOPS_ISSUER")
}

// ResourceMetadata describes a company's MCP endpoint as a protected resource (RFC 9728).
type ResourceMetadata struct {
	Resource string   `json:"resource" format:"uri" doc:"the address of the endpoint, which is the audience of its tokens" example:"https://api.example.com/companies/0197a0b4-6c1e-7c3e-9a57-3f1f0d6f2c11/mcp"`
	Servers  []string `json:"authorization_servers" nullable:"false" doc:"who gives tokens for it" example:"[\"https://api.example.com\"]"`
	Scopes   []string `json:"scopes_supported" nullable:"false" doc:"the scopes that its tokens can have" example:"[\"intelligence:read\"]"`
	Methods  []string `json:"bearer_methods_supported" nullable:"false" doc:"header alone (RFC 6750 §2.1)" example:"[\"header\"]"`
	Name     string   `json:"resource_name" doc:"names the endpoint for people" example:"Organizational Operations Service"`
}

type resourceMetadataInput struct {
	Company string `path:"companyId" maxLength:"64" doc:"The company"`
}

type resourceMetadataOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         ResourceMetadata
}

// getResourceMetadata answers alike for every id, so that no stranger learns which companies exist.
func (d Deps) getResourceMetadata(_ context.Context, in *resourceMetadataInput) (*resourceMetadataOutput, error) {
	if len(d.Issuers) == 0 || !id.Valid(in.Company) {
		return nil, errNoAddress()
	}
	return &resourceMetadataOutput{documentsCached, ResourceMetadata{
		Resource: token.MCPResource(d.Issuers[0], in.Company), Servers: d.Issuers[:1], Scopes: client.Grantable(), Methods: []string{"header"},
		Name: "Organizational Operations Service",
	}}, nil
}
