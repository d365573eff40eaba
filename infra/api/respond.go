package api

import (
	"encoding/json"
	"net/http"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"

	"orgops/shared/web"
)

// refusal describes an answer of the gateway itself, in the functions' format (RFC 9457).
type refusal struct {
	of      awsapigateway.ResponseType
	status  string // "": chosen by the gateway
	kind    string
	title   string
	detail  string
	headers map[string]string
}

func refusals() []refusal {
	retry := func(seconds string) map[string]string { return map[string]string{"Retry-After": seconds} }
	limited := func(policy, seconds string) map[string]string {
		return map[string]string{"Retry-After": seconds, "RateLimit": `"` + policy + `";r=0;t=` + seconds}
	}
	return []refusal{
		{awsapigateway.ResponseType_UNAUTHORIZED(), "401", "unauthenticated", "Not authenticated",
			"send Authorization: Bearer with a good access token from POST /auth/login", map[string]string{"WWW-Authenticate": `Bearer error="invalid_token"`}},
		{awsapigateway.ResponseType_ACCESS_DENIED(), "403", "forbidden", "Forbidden", "this company does not exist, or is not the one of the token", nil},
		{awsapigateway.ResponseType_INVALID_API_KEY(), "403", "forbidden", "Forbidden", "the company has no plan", nil},
		{awsapigateway.ResponseType_WAF_FILTERED(), "403", "forbidden", "Forbidden",
			"the firewall refused this request, or too many requests came from your address; try again in five minutes", nil},
		{awsapigateway.ResponseType_MISSING_AUTHENTICATION_TOKEN(), "404", "not-found", "Not found", "there is no such path", nil},
		{awsapigateway.ResponseType_RESOURCE_NOT_FOUND(), "404", "not-found", "Not found", "there is no such path", nil},
		{awsapigateway.ResponseType_REQUEST_TOO_LARGE(), "413", "too-large", "Too large", "the body is larger than the gateway takes, 10 MB, or than its function takes, 6 MB", nil},
		{awsapigateway.ResponseType_UNSUPPORTED_MEDIA_TYPE(), "415", "unsupported-media-type", "Unsupported media type",
			"the body must be application/json", nil},
		{awsapigateway.ResponseType_THROTTLED(), "429", "quota-exceeded", "Quota exceeded", "too many requests per second; try again later", limited("second", "1")},
		{awsapigateway.ResponseType_QUOTA_EXCEEDED(), "429", "quota-exceeded", "Quota exceeded",
			"the plan's daily quota of requests is used up; try again later or change the plan", limited("day", "3600")},
		{awsapigateway.ResponseType_INTEGRATION_FAILURE(), "503", "unavailable", "Unavailable", "the function did not answer; try again", retry("2")},
		{awsapigateway.ResponseType_INTEGRATION_TIMEOUT(), "503", "unavailable", "Unavailable",
			"the function did not answer in time; the request may or may not have been applied, so re-read before retrying", retry("2")},
		{awsapigateway.ResponseType_DEFAULT_4XX(), "", "malformed", "Malformed request", "the gateway refused the request as malformed", nil},
		{awsapigateway.ResponseType_DEFAULT_5XX(), "", "internal", "Internal error", "internal error", nil},
	}
}

// shared returns the headers that let web pages read the gateway's own answers. Without these headers, an error of the
// gateway looks like a network failure to a page. The gateway cannot choose among several origins. If there are several,
// every page may read these answers, which hold no company's data.
func shared(origins web.Origins) http.Header {
	h := http.Header{}
	if len(origins) == 1 {
		origins.Share(h, origins[0])
	} else if len(origins) > 1 {
		web.Origins{web.AnyOrigin}.Share(h, "")
	}
	return h
}

// responses replaces the gateway's default answers.
func responses(origins web.Origins) object {
	pages, all := shared(origins), object{}
	for _, r := range refusals() {
		headers := object{}
		set := func(name, value string) { headers["gatewayresponse.header."+name] = value }
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
		if r.status == "429" {
			set("RateLimit-Policy", "context.authorizer.ratePolicy")
		}
		response := object{"responseParameters": headers, "responseTemplates": object{"application/json": template(r)}}
		if r.status != "" {
			response["statusCode"] = r.status
		}
		all[*r.of.ResponseType()] = response
	}
	return all
}

// template returns the body. It omits the status if the gateway chooses it.
func template(r refusal) string {
	problem := struct {
		Type     string          `json:"type"`
		Title    string          `json:"title"`
		Status   json.RawMessage `json:"status,omitempty"`
		Detail   string          `json:"detail"`
		Instance string          `json:"instance"`
	}{"/problems/" + r.kind, r.title, json.RawMessage(r.status), r.detail, "urn:uuid:$context.requestId"}
	text, err := json.Marshal(problem)
	if err != nil { // cannot happen: all fields are text
		panic(err)
	}
	return string(text)
}
