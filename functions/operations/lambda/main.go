// Command lambda serves the route group operations as a Lambda function.
package main

import (
	"orgops/functions/operations"
	"orgops/shared/provider/catalog"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/kms"
	"orgops/shared/run/cloud/policies"
	"orgops/shared/run/cloud/secretsmanager"
	"orgops/shared/run/cloud/ses"
	"orgops/shared/run/lambda/group"
)

func main() {
	group.Serve(operations.Mount, policies.Add, kms.Add, ses.Add, secretsmanager.AddSlack, cloud.Connectors(catalog.All))
}
