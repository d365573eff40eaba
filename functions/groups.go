// Package functions is the one list of route groups. The local run mounts it, and whatever is made from the registered
// operations (the OpenAPI document, the gateway's routes) is made from it; no Lambda imports it.
package functions

import (
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"orgops/functions/auth"
	"orgops/functions/inbound"
	"orgops/functions/integrations"
	"orgops/functions/intelligence"
	"orgops/functions/memory"
	"orgops/functions/missioncontrol"
	"orgops/shared/boot"
)

// Group is a set of operations that one Lambda serves.
type Group struct {
	Name     string
	Tag      string // of its operations in the OpenAPI document
	About    string // the tag's description
	Register func(huma.API, *boot.Services)
}

// Register mounts every group and describes their tags.
func Register(api huma.API, s *boot.Services) {
	for _, g := range Groups() {
		g.Register(api, s)
		api.OpenAPI().Tags = append(api.OpenAPI().Tags, &huma.Tag{Name: g.Tag, Description: g.About})
	}
	slices.SortFunc(api.OpenAPI().Tags, func(a, b *huma.Tag) int { return strings.Compare(a.Name, b.Name) })
}

// Groups lists the route groups. Of two schemas with one name in the document, the group that comes first has it plain.
func Groups() []Group {
	return []Group{
		{"auth", "auth", "Logging in, and the keys that verify what a login gives.", func(api huma.API, s *boot.Services) {
			auth.Register(api, auth.Deps{Store: s.Store, Hasher: s.Hasher, Keys: auth.AtHand{Signs: s.Tokens.Signer(), Verifies: s.Tokens.Public}, Now: s.Now})
		}},
		{"integrations", "integrations", "Connectors and webhooks: configured, certified, watched, recovered.", func(api huma.API, s *boot.Services) {
			integrations.Register(api, integrations.Deps{
				Connectors: s.Connectors, Examiner: s.Examiner, Courier: s.Courier, Vault: s.Vault, Now: s.Now,
			})
		}},
		{"memory", "memory", "What connectors brought in, and the syncs that fetch it.", func(api huma.API, s *boot.Services) {
			memory.Register(api, memory.Deps{Connectors: s.Connectors, Now: s.Now})
		}},
		{"inbound", "inbound", "Where providers post their webhooks.", func(api huma.API, s *boot.Services) {
			inbound.Register(api, inbound.Deps{
				Company: s.Company, Connectors: s.Connectors, Vault: s.Vault, Engine: s.Engine, Now: s.Now,
			})
		}},
		{"missioncontrol", "mission-control", "How the platform and the company are doing.", func(api huma.API, s *boot.Services) {
			missioncontrol.Register(api, missioncontrol.Deps{Now: s.Now})
		}},
		{"intelligence", "intelligence", "What a founder should know and do next.", func(api huma.API, s *boot.Services) {
			intelligence.Register(api, intelligence.Deps{Now: s.Now})
		}},
	}
}
