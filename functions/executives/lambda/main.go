// Command lambda serves the route group executives as a Lambda function.
package main

import (
	"orgops/functions/executives"
	"orgops/shared/provider/catalog"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/policies"
	"orgops/shared/run/lambda/group"
)

func main() { group.Serve(executives.Mount, policies.Add, cloud.Connectors(catalog.All)) }
