package authorizer_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"orgops/functions/authorizer"
	"orgops/shared/base/fault"
	"orgops/shared/identity/token"
	"orgops/shared/testkit/metrictest"
)

// TestMeasured counts a token that cannot be checked as a failure, but not an invalid token.
func TestMeasured(t *testing.T) {
	t.Parallel()
	away := errors.New("the keys are out of reach")
	metrics, log := metrictest.New(time.Now)
	for _, cause := range []error{away, fault.New(fault.Unauthenticated, "expired"), nil} {
		a := authorizer.Authorizer{Logger: slog.New(slog.DiscardHandler), Metrics: metrics, Verify: func(context.Context, string) (token.Claims, error) {
			return token.Claims{Company: "acme"}, cause
		}}
		_, err := a.Handle(t.Context(), authorizer.Request{
			Type: "TOKEN", AuthorizationToken: "Bearer a", MethodARN: "arn:aws:execute-api:eu-central-1:111122223333:q7x2m9k4vd/live/GET/companies/acme/memory",
		})
		if (err != nil) != (cause != nil) || errors.Is(err, authorizer.ErrUnauthorized) != (cause != nil && !errors.Is(cause, away)) {
			t.Errorf("a verification that returns %v is answered with %v", cause, err)
		}
	}
	metrics.Flush("")
	if got := metrictest.Sums(t, log.String()); len(got) != 1 || got["AuthorizerFailures"] != 1 {
		t.Errorf("measured %v", got)
	}
}
