// Command lambda is the provisioner as a Lambda function that an operator invokes, or a CDK custom resource.
package main

import (
	"orgops/functions/provisioner"
	"orgops/shared/boot/cloud"
	"orgops/shared/boot/cloud/data"
	"orgops/shared/lambda/start"
	"orgops/shared/password"
	"orgops/shared/usagekey/gatewaykeys"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[provisioner.Event, any], error) {
		p := &provisioner.Provisioner{
			Store: data.Main(c), Hasher: password.New(), Plans: gatewaykeys.Open(c.Access, c.Settings.UsagePlans), Logger: c.Logger, Now: c.Now,
		}
		return p.Invoke, nil
	})
}
