// Command lambda is the authorizer as a Lambda function.
package main

import (
	"orgops/functions/authorizer"
	"orgops/shared/boot/cloud"
	"orgops/shared/boot/cloud/tokens"
	"orgops/shared/lambda/start"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[authorizer.Request, authorizer.Answer], error) {
		a := &authorizer.Authorizer{Verify: tokens.Lazily(c).Verify, Logger: c.Logger, Metrics: c.Metrics}
		return a.Handle, nil
	})
}
