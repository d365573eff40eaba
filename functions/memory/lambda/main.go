// Command lambda serves the route group memory as a Lambda function.
package main

import (
	"orgops/functions/memory"
	"orgops/shared/provider/catalog"
	"orgops/shared/run/cloud"
	"orgops/shared/run/lambda/group"
)

func main() { group.Serve(memory.Mount, cloud.Connectors(catalog.All)) }
