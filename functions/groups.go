// Package functions lists the route groups. The local process mounts all groups of this list. The OpenAPI document and the
// gateway's routes are made from the operations that the groups register. No Lambda imports this package.
package functions

import (
	"github.com/danielgtaylor/huma/v2"

	"orgops/functions/auth"
	"orgops/functions/inbound"
	"orgops/functions/integrations"
	"orgops/functions/intelligence"
	"orgops/functions/memory"
	"orgops/functions/missioncontrol"
	"orgops/shared/run/boot"
)

// Group describes the operations that one Lambda serves.
type Group struct {
	Name  string
	Tag   string // tags the group's operations in the OpenAPI document
	About string // the tag's description
	Mount func(huma.API, *boot.Services)
}

// Mount mounts every group, and describes their tags, the events that they cause and the widgets of the dashboard. The
// document shows the tags in the groups' order, with the login first.
func Mount(api huma.API, s *boot.Services) {
	for _, g := range Groups() {
		g.Mount(api, s)
		api.OpenAPI().Tags = append(api.OpenAPI().Tags, &huma.Tag{Name: g.Tag, Description: g.About})
	}
	api.OpenAPI().Tags = append(api.OpenAPI().Tags, &huma.Tag{
		Name: auth.TagService, Description: "Whether the service answers, its public keys, and what its problem types mean.",
	})
	for _, complete := range []func(*huma.OpenAPI){documentEvents, documentWidgets, documentRules, nameEnumerations, describeSchemas, showExamples} {
		complete(api.OpenAPI())
	}
}

// Groups lists the route groups. If two schemas in the document have the same name, the schema of the earlier group keeps
// the name without a prefix.
func Groups() []Group {
	return []Group{
		{"auth", "auth", "Log in, and get the public keys that verify access tokens.", auth.Mount},
		{"integrations", "integrations", "Configure, certify, monitor and recover connectors and webhooks.", integrations.Mount},
		{"memory", "memory", "The memories and goals that connectors import, and the syncs that fetch them.", memory.Mount},
		{"inbound", "inbound", "The endpoints that providers post their webhooks to.", inbound.Mount},
		{"missioncontrol", "mission-control", "The health, readiness, dashboard and timeline of the company.", missioncontrol.Mount},
		{"intelligence", "intelligence", "What the founder should know and do next.", intelligence.Mount},
	}
}
