// Command lambda serves the route group inbound as a Lambda function.
package main

import (
	"time"

	"orgops/functions/inbound"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/genericwebhook"
	"orgops/shared/provider/github"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/kms"
	"orgops/shared/run/cloud/policies"
	"orgops/shared/run/lambda/group"
	"orgops/shared/webhook/outbound"
)

func main() { group.Serve(inbound.Mount, kms.Add, policies.Add, cloud.Connectors(receivers)) }

// receivers returns the connectors that receive webhooks. The program does not link the other connectors and their
// libraries.
func receivers(client *outbound.Client, _ func() time.Time) connector.Registry {
	return connector.New(genericwebhook.New(client), github.New())
}
