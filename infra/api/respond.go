package api

import (
	"encoding/json"
	"net/http"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"

	"orgops/shared/web"
)

// refusal is what the gateway answers by itself, in the form that the functions use (RFC 9457).
type refusal struct {
	of      awsapigateway.ResponseType
	status  string // "": the gateway's own
	kind    string
	title   string
	detail  string
	headers map[string]string
}

func refusals() []refusal {
	retry := func(seconds string) map[string]string { return map[string]string{"Retry-After": seconds} }
	return []refusal{
		{awsapigateway.ResponseType_UNAUTHORIZED(), "401", "unauthenticated", "Not authenticated",
			"send Authorization: Bearer with a good access token from POST /auth/login", map[string]string{"WWW-Authenticate": `Bearer error="invalid_token"`}},
		{awsapigateway.ResponseType_ACCESS_DENIED(), "403", "forbidden", "Forbidden", "this company does not exist, or is not the one of the token", nil},
		{awsapigateway.ResponseType_INVALID_API_KEY(), "403", "forbidden", "Forbidden", "the company has no plan", nil},
		{awsapigateway.ResponseType_WAF_FILTERED(), "403", "forbidden", "Forbidden",
			"the firewall refuses this request, or so many from one address; what it holds against one passes after five minutes", nil},
		{awsapigateway.ResponseType_MISSING_AUTHENTICATION_TOKEN(), "404", "not-found", "Not found", "there is no such path", nil},
		{awsapigateway.ResponseType_RESOURCE_NOT_FOUND(), "404", "not-found", "Not found", "there is no such path", nil},
		{awsapigateway.ResponseType_REQUEST_TOO_LARGE(), "413", "too-large", "Too large", "the body may have 1 MiB at most", nil},
		{awsapigateway.ResponseType_UNSUPPORTED_MEDIA_TYPE(), "415", "unsupported-media-type", "Unsupported media type",
			"the body must be application/json", nil},
		{awsapigateway.ResponseType_THROTTLED(), "429", "quota-exceeded", "Quota exceeded", "too many requests a second; try again", retry("1")},
		{awsapigateway.ResponseType_QUOTA_EXCEEDED(), "429", "quota-exceeded", "Quota exceeded",
			"the plan's requests for this period are used up", retry("3600")},
		{awsapigateway.ResponseType_INTEGRATION_FAILURE(), "503", "unavailable", "Unavailable", "the function did not answer; try again", retry("2")},
		{awsapigateway.ResponseType_INTEGRATION_TIMEOUT(), "503", "unavailable", "Unavailable",
			"the answer took too long and may still take effect; look before you repeat", retry("2")},
		{awsapigateway.ResponseType_DEFAULT_4XX(), "", "malformed", "Malformed request", "the gateway could not take the request", nil},
		{awsapigateway.ResponseType_DEFAULT_5XX(), "", "internal", "Internal error", "internal error", nil},
	}
}

// shared are the headers that let pages read the gateway's own answers, as they may the functions': an error that a page
// cannot read looks like a broken network. The gateway cannot choose among several origins. Any page may then read what it
// says, which holds nothing of a company.
func shared(origins web.Origins) http.Header {
	h := http.Header{}
	if len(origins) == 1 {
		origins.Share(h, origins[0])
	} else if len(origins) > 1 {
		web.Origins{web.AnyOrigin}.Share(h, "")
	}
	return h
}

// respond replaces the gateway's own answers.
func respond(rest awsapigateway.RestApi, origins web.Origins) {
	pages := shared(origins)
	for _, r := range refusals() {
		headers := map[string]*string{}
		set := func(name, value string) { headers[name] = &value }
		set("Content-Type", "'application/problem+json'")
		set("Cache-Control", "'no-store'")
		set("X-Content-Type-Options", "'nosniff'")
		for name, values := range pages {
			set(name, "'"+values[0]+"'")
		}
		set("X-Request-Id", "context.requestId")
		for name, value := range r.headers {
			set(name, "'"+value+"'")
		}
		options := &awsapigateway.GatewayResponseOptions{Type: r.of, ResponseHeaders: &headers, Templates: &map[string]*string{
			"application/json": template(r),
		}}
		if r.status != "" {
			options.StatusCode = &r.status
		}
		rest.AddGatewayResponse(r.of.ResponseType(), options)
	}
}

// template is the body. Where the gateway chooses the status, the body leaves it out: it is in the answer's first line.
func template(r refusal) *string {
	problem := struct {
		Type     string          `json:"type"`
		Title    string          `json:"title"`
		Status   json.RawMessage `json:"status,omitempty"`
		Detail   string          `json:"detail"`
		Instance string          `json:"instance"`
	}{"/problems/" + r.kind, r.title, json.RawMessage(r.status), r.detail, "urn:uuid:$context.requestId"}
	text, err := json.Marshal(problem)
	if err != nil { // five strings
		panic(err)
	}
	body := string(text)
	return &body
}
