// Package itself lets a Lambda function call itself, for work that one invocation has no time for.
package itself

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"orgops/shared/base/awsclient"
)

// tryTimeout limits one try of a call. Lambda answers when it has queued the event.
const tryTimeout = 5 * time.Second

// Function calls the function of this process.
type Function struct{ client *lambda.Client }

// Open makes a Function. It sends no request.
func Open(access awsclient.Access) *Function {
	return &Function{lambda.New(lambda.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.BaseEndpoint("LAMBDA"),
		Retryer: awsclient.NewRetryer(nil), HTTPClient: access.HTTPClient.WithTimeout(tryTimeout),
	})}
}

// Begin calls the function with an event, and does not wait for its answer. Lambda keeps an event of a function that is busy for as
// long as the function's settings say.
func (f *Function) Begin(ctx context.Context, event any) error {
	payload, err := json.Marshal(event)
	if err != nil {
		return err
	}
	_, err = f.client.Invoke(ctx, &lambda.InvokeInput{
		FunctionName: &lambdacontext.FunctionName, InvocationType: types.InvocationTypeEvent, Payload: payload,
	})
	if err != nil {
		return fmt.Errorf("call %s: %w", lambdacontext.FunctionName, err)
	}
	return nil
}
