package sso

import (
	"context"
	"net/url"

	"github.com/danielgtaylor/huma/v2/negotiation"

	"orgops/shared/base/fault"
	"orgops/shared/web"
)

// problemMedia is what an API client accepts, pageMedia what a browser that goes to an address does.
const (
	problemMedia = "application/problem+json"
	jsonMedia    = "application/json"
	pageMedia    = "text/html"
)

// turnBack ends a sign-in that was refused. A browser goes back to where the sign-in was to end, with a fixed code that says
// why. No text of the provider or of the request is passed on. Any other client gets the problem.
func (d Deps) turnBack(ctx context.Context, s signIn, err error) (*redirectOutput, error) {
	accepted := web.RequestHeaders(ctx).Get("Accept")
	if negotiation.SelectQValueFast(accepted, []string{problemMedia, jsonMedia, pageMedia}) != pageMedia {
		return nil, err
	}
	web.Refused(ctx, err)
	if s.try.Asked.Redirect != "" {
		return leadTo(answered(s.try.Asked, url.Values{"error": {errorOf(err)}})), nil
	}
	why := reasonOf(err)
	if s.try.Until.IsZero() && why == "refused" { // no sign-in was found
		why = "again"
	}
	return leadTo(d.Base + "/console/index.html#/sso?refused=" + why), nil
}

// reasonOf returns the code by which the console says why a sign-in was refused.
func reasonOf(err error) string {
	switch fault.KindOf(err) {
	case fault.Unauthenticated:
		return "refused"
	case fault.Forbidden:
		return "forbidden"
	case fault.PlanRequired:
		return "plan"
	case fault.Suspended:
		return "suspended"
	case fault.Unavailable:
		return "unavailable"
	}
	return "failed"
}

// errorOf returns the error code of the authorization code flow (RFC 6749 §4.1.2.1).
func errorOf(err error) string {
	switch fault.KindOf(err) {
	case fault.Unavailable:
		return "temporarily_unavailable"
	case fault.Internal:
		return "server_error"
	}
	return "access_denied"
}
