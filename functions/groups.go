// Package functions is the one list of route groups. The local run mounts it, and whatever is made from the registered
// operations (the OpenAPI document, the gateway's routes) is made from it; no Lambda imports it.
package functions

import (
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
	Register func(huma.API, *boot.Services)
}

// Groups lists the route groups. Of two schemas with one name in the document, the group that comes first has it plain.
func Groups() []Group {
	return []Group{
		{"auth", func(api huma.API, s *boot.Services) {
			auth.Register(api, auth.Deps{Store: s.Store, Hasher: s.Hasher, Signer: s.Signer, Keys: s.Keys.Public, Now: s.Now})
		}},
		{"integrations", func(api huma.API, s *boot.Services) {
			integrations.Register(api, integrations.Deps{
				Connectors: s.Connectors, Examiner: s.Examiner, Courier: s.Courier, Vault: s.Vault, Now: s.Now,
			})
		}},
		{"memory", func(api huma.API, s *boot.Services) {
			memory.Register(api, memory.Deps{Connectors: s.Connectors, Now: s.Now})
		}},
		{"inbound", func(api huma.API, s *boot.Services) {
			inbound.Register(api, inbound.Deps{
				Company: s.Company, Connectors: s.Connectors, Vault: s.Vault, Engine: s.Engine, Now: s.Now,
			})
		}},
		{"missioncontrol", func(api huma.API, s *boot.Services) {
			missioncontrol.Register(api, missioncontrol.Deps{Now: s.Now})
		}},
		{"intelligence", func(api huma.API, s *boot.Services) {
			intelligence.Register(api, intelligence.Deps{Now: s.Now})
		}},
	}
}
