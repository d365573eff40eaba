// Command lambda serves the route group auth as a Lambda function.
package main

import (
	"orgops/functions/auth"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/kms"
	"orgops/shared/run/lambda/group"
)

func main() { group.ServeSigning(auth.Mount, kms.Add, cloud.Egress) }
