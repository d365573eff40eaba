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

	"orgops/shared/boot/cloud"
	"orgops/shared/metric"
)

// Handler answers one invocation.
type Handler[In, Out any] func(ctx context.Context, in In) (Out, error)

// Run builds a handler and hands it every invocation, for as long as the process lives. A function that cannot be built,
// because a setting is missing, answers every invocation with the reason: nothing is lost, and the log says why.
func Run[In, Out any](build func(*cloud.Cloud) (Handler[In, Out], error)) {
	c, err := cloud.Open()
	var handler Handler[In, Out]
	if err == nil {
		handler, err = build(c)
		err = errors.Join(err, c.Missing())
	}
	if err != nil {
		c.Logger.Error("the function cannot be built", "error", err)
		handler = func(context.Context, In) (out Out, _ error) {
			return out, fmt.Errorf("the function cannot be built: %w", err)
		}
	}
	lambda.Start(Metered(c.Metrics, Guard(c.Logger, Ending(handler))))
}

// Metered writes what an invocation has measured when it ends, however it ends. What it has left undone and finishes
// under a later one is written with that.
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

// answerBefore is how long before the function's end a handler hears of it, at most; a function with little time gives a
// tenth of it.
const answerBefore = 5 * time.Second

// Ending has a handler's context end before the function does, so that what is done by then is answered for and what is
// not is given back, where otherwise the process would be stopped and all of it done again.
func Ending[In, Out any](handler Handler[In, Out]) Handler[In, Out] {
	return func(ctx context.Context, in In) (Out, error) {
		if deadline, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, deadline.Add(-min(answerBefore, time.Until(deadline)/10)))
			defer cancel()
		}
		return handler(ctx, in)
	}
}

// Guard makes a panic the failure of its invocation. Unrecovered it would end the process, and with it the work that
// other invocations of this process have at hand.
func Guard[In, Out any](logger *slog.Logger, handler Handler[In, Out]) Handler[In, Out] {
	return func(ctx context.Context, in In) (out Out, err error) {
		defer func() {
			if v := recover(); v != nil {
				logger.ErrorContext(ctx, "panic", "panic", v, "stack", string(debug.Stack()))
				err = errors.New("panic")
			}
		}()
		return handler(ctx, in)
	}
}
