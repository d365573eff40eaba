// Command lambda runs the rotator as a Lambda function that Secrets Manager calls.
package main

import (
	"context"

	"orgops/functions/rotator"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/secretsmanager"
	"orgops/shared/run/lambda/start"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[rotator.Event, struct{}], error) {
		r := &rotator.Rotator{Signing: secretsmanager.Signing(c), Published: secretsmanager.Published(c), Now: c.Now}
		return func(ctx context.Context, e rotator.Event) (struct{}, error) { return struct{}{}, r.Handle(ctx, e) }, nil
	})
}
