// Command lambda serves the MCP endpoint as a Lambda function, with the groups whose operations are tools.
package main

import (
	"orgops/functions/executives"
	"orgops/functions/integrations/shown"
	"orgops/functions/intelligence"
	"orgops/functions/mcp"
	"orgops/functions/memory"
	"orgops/functions/missioncontrol"
	"orgops/functions/operations/approvals"
	"orgops/shared/run/cloud/policies"
	"orgops/shared/run/lambda/group"
)

func main() {
	group.ServeAlone(group.All(mcp.Mount, missioncontrol.Mount, intelligence.Mount, memory.Mount, shown.Mount, executives.Mount, approvals.Mount), policies.Add)
}
