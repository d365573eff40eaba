// Command lambda runs the provisioner as a Lambda function that an operator or a CDK custom resource invokes.
package main

import (
	"orgops/functions/provisioner"
	"orgops/shared/identity/password"
	"orgops/shared/identity/usagekey/gatewaykeys"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/dynamodb"
	"orgops/shared/run/lambda/start"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[provisioner.Event, any], error) {
		p := &provisioner.Provisioner{
			Store: dynamodb.Main(c), Hasher: password.New(), Plans: gatewaykeys.Open(c.Access, c.Settings.UsagePlans), Operator: "provisioner", Logger: c.Logger, Now: c.Now,
		}
		return p.Invoke, nil
	})
}
