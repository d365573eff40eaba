// Command lambda serves the console's files as a Lambda function.
package main

import (
	"orgops/functions/console"
	"orgops/shared/run/lambda/group"
)

func main() { group.ServePages(console.Mount) }
