// Package policies adds the policy engine. It links Cedar, so only programs that decide on automated actions import it.
package policies

import (
	"orgops/shared/provider/policyengine"
	"orgops/shared/run/boot"
	"orgops/shared/run/cloud"
)

// Add adds the policy engine to a function's parts.
func Add(c *cloud.Cloud, p *boot.Parts) { p.Engine = policyengine.New(c.Now) }
