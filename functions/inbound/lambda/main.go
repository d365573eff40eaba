// Command lambda serves the route group inbound, which certifies too, as a Lambda function.
package main

import (
	"orgops/functions/inbound"
	"orgops/functions/integrations"
	"orgops/shared/provider/catalog/fetching"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/kms"
	"orgops/shared/run/cloud/policies"
	"orgops/shared/run/cloud/secretsmanager"
	"orgops/shared/run/lambda/group"
)

func main() {
	group.Serve(group.All(inbound.Mount, integrations.MountCertification), kms.Add, policies.Add, secretsmanager.AddApplications, cloud.Connectors(fetching.All))
}
