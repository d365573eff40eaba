// Command lambda runs the authorizer as a Lambda function.
package main

import (
	"orgops/functions/authorizer"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/secretsmanager"
	"orgops/shared/run/lambda/start"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[authorizer.Request, authorizer.Answer], error) {
		a := &authorizer.Authorizer{Verify: secretsmanager.Lazily(c).Verify, Logger: c.Logger, Metrics: c.Metrics}
		return a.Handle, nil
	})
}
