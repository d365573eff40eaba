// Package start runs a function under the Lambda runtime.
package start

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"orgops/shared/base/metric"
	"orgops/shared/run/cloud"
)

// Handler answers one invocation.
type Handler[In, Out any] func(ctx context.Context, in In) (Out, error)

// Run builds a handler and passes it every invocation until the process ends. If a setting is missing, Run cannot build the
// handler. Every invocation then fails with the reason: Lambda retries the events, and the log names the setting.
func Run[In, Out any](build func(*cloud.Cloud) (Handler[In, Out], error)) {
	c, err := cloud.Open()
	var handler Handler[In, Out]
	if err == nil {
		handler, err = build(c)
		err = errors.Join(err, c.Missing())
	}
	if err != nil {
		c.Logger.Error("function not built", "error", err)
		handler = func(context.Context, In) (out Out, _ error) {
			return out, fmt.Errorf("the function cannot be built: %w", err)
		}
	}
	lambda.Start(Metered(c.Metrics, Guard(c.Logger, WithMargin(handler))))
}

// Metered writes the metrics of an invocation when it ends, even after an error or a panic. Work that continues in a later
// invocation counts in the metrics of the later invocation.
func Metered[In, Out any](m *metric.Recorder, handler Handler[In, Out]) Handler[In, Out] {
	return func(ctx context.Context, in In) (Out, error) {
		defer func() {
			id := ""
			if c, ok := lambdacontext.FromContext(ctx); ok {
				id = c.AwsRequestID
			}
			m.Flush(id)
		}()
		return handler(ctx, in)
	}
}

// margin limits how long before the function's timeout a handler's context ends. If less than 50 s remain, the context ends
// a tenth of the remaining time earlier.
const margin = 5 * time.Second

// WithMargin cancels the context shortly before the Lambda timeout, so that the handler acknowledges finished work and
// Lambda redelivers only the rest. At the timeout, Lambda stops the process and redelivers everything.
func WithMargin[In, Out any](handler Handler[In, Out]) Handler[In, Out] {
	return func(ctx context.Context, in In) (Out, error) {
		if deadline, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, deadline.Add(-min(margin, time.Until(deadline)/10)))
			defer cancel()
		}
		return handler(ctx, in)
	}
}

// Guard turns a panic into the failure of its invocation. An unrecovered panic would end the process, and with it the work
// in flight for other invocations.
func Guard[In, Out any](logger *slog.Logger, handler Handler[In, Out]) Handler[In, Out] {
	return func(ctx context.Context, in In) (out Out, err error) {
		defer func() {
			if v := recover(); v != nil {
				logger.ErrorContext(ctx, "handler panicked", "panic", v, "stack", string(debug.Stack()))
				err = errors.New("panic")
			}
		}()
		return handler(ctx, in)
	}
}
