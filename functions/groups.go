// Package functions lists the route groups. The local process mounts all groups of this list. The OpenAPI document and the
// gateway's routes are made from the operations that the groups register. No Lambda imports this package.
package functions

import (
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"orgops/functions/auth"
	"orgops/functions/console"
	"orgops/functions/executives"
	"orgops/functions/inbound"
	"orgops/functions/integrations"
	"orgops/functions/intelligence"
	"orgops/functions/mcp"
	"orgops/functions/memory"
	"orgops/functions/missioncontrol"
	"orgops/functions/operations"
	"orgops/functions/sso"
	"orgops/shared/run/boot"
)

// Group describes the operations that one Lambda serves.
type Group struct {
	Name  string
	Tag   string // tags the group's operations in the OpenAPI document; "": the document has none of them
	About string // the tag's description
	Mount func(huma.API, *boot.Services)
}

// Mount mounts every group except those that without names, and describes their tags, the events that they cause and the
// widgets of the dashboard. The document shows the tags in the groups' order, with the login first.
func Mount(api huma.API, s *boot.Services, without ...string) {
	for _, g := range Groups(without...) {
		g.Mount(api, s)
		if g.Tag != "" {
			api.OpenAPI().Tags = append(api.OpenAPI().Tags, &huma.Tag{Name: g.Tag, Description: g.About})
		}
	}
	api.OpenAPI().Tags = append(api.OpenAPI().Tags, &huma.Tag{
		Name: auth.TagService, Description: "Whether the service answers, its public keys, and what its problem types mean.",
	})
	for _, complete := range []func(*huma.OpenAPI){documentEvents, documentWidgets, documentRules, documentLimits, nameEnumerations, dropHidden, describeSchemas, extendPatterns} {
		complete(api.OpenAPI())
	}
	showExamples(api.OpenAPI(), len(without) == 0)
}

// mountInbound mounts what the Lambda inbound serves.
func mountInbound(api huma.API, s *boot.Services) {
	inbound.Mount(api, s)
	integrations.MountCertification(api, s)
}

// Executives names the group of the Executive Runtime, which a deployment can leave out.
const Executives = "executives"

// Without lists the groups that a deployment leaves out.
func Without(noExecutives bool) []string {
	if noExecutives {
		return []string{Executives}
	}
	return nil
}

// Groups lists the route groups except those that without names. If two schemas in the document have the same name, the
// schema of the earlier group keeps the name without a prefix.
func Groups(without ...string) []Group {
	all := []Group{
		{"auth", "auth", "Log in, and get the public keys that verify access tokens.", auth.Mount},
		{"sso", "", "Sign in through the company's identity provider.", sso.Mount},
		{"integrations", "integrations", "Configure, certify, monitor and recover connectors and webhooks.", integrations.Mount},
		{"memory", "memory", "The memories and goals that connectors import, and the syncs that fetch them.", memory.Mount},
		{"inbound", "inbound", "The endpoints that providers post their webhooks to.", mountInbound},
		{"missioncontrol", "mission-control", "The health, readiness, dashboard and timeline of the company.", missioncontrol.Mount},
		{"intelligence", "intelligence", "What the founder should know and do next.", intelligence.Mount},
		{"operations", "operations", "Administer the company: its users, who did what, what the policy engine decided, and why.", operations.Mount},
		{Executives, "executives", "Automated agents of the company: what they may ask for, whether they are certified, and what they did.", executives.Mount},
		{"mcp", "mcp", "The company's MCP endpoint, by which agents use the other groups' operations as tools.", mcp.Mount},
		{"console", "", "The founder's page, which calls the other groups from a browser.", console.Mount},
	}
	return slices.DeleteFunc(all, func(g Group) bool { return slices.Contains(without, g.Name) })
}
