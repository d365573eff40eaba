// Command lambda serves the route group sso as a Lambda function.
package main

import (
	"orgops/functions/sso"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/kms"
	"orgops/shared/run/lambda/group"
)

func main() { group.Serve(sso.Mount, kms.Add, cloud.Egress) }
