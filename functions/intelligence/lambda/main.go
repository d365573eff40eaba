// Command lambda serves the route group intelligence as a Lambda function.
package main

import (
	"orgops/functions/intelligence"
	"orgops/shared/run/lambda/group"
)

func main() { group.Serve(intelligence.Mount) }
