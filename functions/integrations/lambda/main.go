// Command lambda serves the route group integrations as a Lambda function.
package main

import (
	"orgops/functions/integrations"
	"orgops/shared/provider/catalog"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/kms"
	"orgops/shared/run/cloud/policies"
	"orgops/shared/run/cloud/secretsmanager"
	"orgops/shared/run/lambda/group"
)

func main() {
	group.Serve(integrations.Mount, kms.Add, policies.Add, secretsmanager.AddApplications, cloud.Connectors(catalog.All))
}
