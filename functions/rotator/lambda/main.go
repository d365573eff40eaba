// Command lambda is the rotator as a Lambda function that Secrets Manager calls.
package main

import (
	"context"

	"orgops/functions/rotator"
	"orgops/shared/boot/cloud"
	"orgops/shared/boot/cloud/tokens"
	"orgops/shared/lambda/start"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[rotator.Event, struct{}], error) {
		r := &rotator.Rotator{Signing: tokens.Signing(c), Published: tokens.Published(c), Now: c.Now}
		return func(ctx context.Context, e rotator.Event) (struct{}, error) { return struct{}{}, r.Handle(ctx, e) }, nil
	})
}
