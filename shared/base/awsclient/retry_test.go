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

// expired expects a call to have ended at its deadline.
func expired(t *testing.T, call string, deadline, took time.Duration, err error) {
	t.Helper()
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: error %v, want %v", call, err, context.DeadlineExceeded)
	}
	if took != deadline {
		t.Errorf("%s: took %v, want %v", call, took, deadline)
	}
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
			took, err := c.call(t, time.Second)
			if err != nil {
				t.Errorf("%s: %v", step, err)
			}
			if took != 0 {
				t.Errorf("%s: took %v, want no delay", step, took)
			}
		}
		held := func(step string, most time.Duration) {
			t.Helper()
			took, err := c.call(t, most)
			expired(t, step, most, took, err)
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
			took, err := c.call(t, time.Hour)
			if !errors.Is(err, refused) {
				t.Fatalf("error %v, want %v", err, refused)
			}
			if c.tries != 10 {
				t.Fatalf("%d tries, want 10", c.tries)
			}
			if took < 2*time.Second || took > 5*time.Second {
				t.Fatalf("took %v, want 2 to 5 seconds", took)
			}
		}
		took, err := c.call(t, time.Second)
		expired(t, "with a deadline of one second", time.Second, took, err)
	})
}
