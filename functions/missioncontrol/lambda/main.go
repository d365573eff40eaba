// Command lambda serves the route group missioncontrol as a Lambda function.
package main

import (
	"orgops/functions/missioncontrol"
	"orgops/shared/run/lambda/group"
)

func main() { group.Serve(missioncontrol.Mount) }
