package authorizer_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/authorizer"
	"orgops/shared/base/fault"
	"orgops/shared/identity/token"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/metrictest"
)

// TestAuthorizer_Measured counts a token that cannot be checked as a failure, but not an invalid token.
func TestAuthorizer_Measured(t *testing.T) {
	t.Parallel()
	away := errors.New("the keys are out of reach")
	metrics, log := metrictest.New(time.Now)
	for _, tt := range []struct{ cause, want error }{
		{away, away}, {fault.New(fault.Unauthenticated, "expired"), authorizer.ErrUnauthorized}, {nil, nil},
	} {
		a := authorizer.Authorizer{Logger: slog.New(slog.DiscardHandler), Metrics: metrics, Verify: func(context.Context, string) (token.Claims, error) {
			return token.Claims{Company: "acme"}, tt.cause
		}}
		_, err := a.Handle(t.Context(), authorizer.Request{
			Type: "TOKEN", AuthorizationToken: "Bearer a", MethodARN: "arn:aws:execute-api:eu-central-1:111122223333:q7x2m9k4vd/live/GET/companies/acme/memory",
		})
		if got, want := errtest.Message(err), errtest.Message(tt.want); got != want {
			t.Errorf("error after a verification that returns %v = %q, want %q", tt.cause, got, want)
		}
		if !errors.Is(err, tt.want) {
			t.Errorf("error after a verification that returns %v = %v, want %v", tt.cause, err, tt.want)
		}
	}
	metrics.Flush("")
	if diff := cmp.Diff(map[string]float64{"AuthorizerFailures": 1}, metrictest.Sums(t, log.String())); diff != "" {
		t.Errorf("metrics differ (-want +got):\n%s", diff)
	}
}
