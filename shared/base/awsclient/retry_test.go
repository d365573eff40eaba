package awsclient_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"orgops/shared/base/awsclient"
)

// client wraps a fake service in the SDK's retry loop, which every AWS client has.
type client struct {
	loop    *retry.Attempt
	service func() error
	tries   int
}

func newClient(service func() error) *client {
	same := func(request any) any { return request }
	return &client{loop: retry.NewAttemptMiddleware(awsclient.NewRetryer(nil), same), service: service}
}

// call makes one call with a deadline and returns its duration.
func (c *client) call(t *testing.T, most time.Duration) (took time.Duration, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	begun := time.Now()
	_, _, err = c.loop.HandleFinalize(ctx, middleware.FinalizeInput{}, middleware.FinalizeHandlerFunc(
		func(context.Context, middleware.FinalizeInput) (middleware.FinalizeOutput, middleware.Metadata, error) {
			c.tries++
			return middleware.FinalizeOutput{}, middleware.Metadata{}, c.service()
		}))
	return time.Since(begun), err
}

// TestNewRetryer_Throttled checks that a throttle delays all further tries of the same client, up to their deadlines, and
// none of another client.
func TestNewRetryer_Throttled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var next error // the service's next response
		service := func() error {
			answer := next
			next = nil
			return answer
		}
		c, other := newClient(service), newClient(service)
		sent := func(step string, c *client) {
			t.Helper()
			if took, err := c.call(t, time.Second); took != 0 || err != nil {
				t.Errorf("%s: %v, %v; want no delay", step, took, err)
			}
		}
		held := func(step string, most time.Duration) {
			t.Helper()
			if took, err := c.call(t, most); took != most || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v, %v; want a delay until its deadline", step, took, err)
			}
		}
		for range 100 {
			sent("before", c)
		}
		next = &smithy.GenericAPIError{Code: "ThrottlingException"}
		held("the second try of the throttled call", time.Second)
		held("the first try of the next call", 500*time.Millisecond)
		if c.tries != 101 {
			t.Errorf("%d tries reached the service, want 101", c.tries)
		}
		sent("another client", other)
		<-time.After(10 * time.Second) // of the bubble's clock
		sent("later", c)
	})
}

// TestNewRetryer_Unreachable checks that a call is tried ten times within seconds, however many calls failed before, and that
// its pauses end at its deadline.
func TestNewRetryer_Unreachable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := &net.OpError{Op: "dial", Err: errors.New("refused")}
		c := newClient(func() error { return refused })
		for range 20 {
			c.tries = 0
			if took, err := c.call(t, time.Hour); !errors.Is(err, refused) || c.tries != 10 || took < 2*time.Second || took > 5*time.Second {
				t.Fatalf("%d tries in %v: %v", c.tries, took, err)
			}
		}
		if took, err := c.call(t, time.Second); took != time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a deadline of one second: %v, %v", took, err)
		}
	})
}
