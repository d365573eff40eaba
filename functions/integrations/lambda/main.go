// Command lambda is the route group integrations as a Lambda function.
package main

import (
	"orgops/functions/integrations"
	"orgops/shared/boot/cloud/connectors"
	"orgops/shared/boot/cloud/group"
	"orgops/shared/boot/cloud/outward"
	"orgops/shared/boot/cloud/sealing"
	"orgops/shared/certify"
	"orgops/shared/policy"
	"orgops/shared/web"
)

func main() {
	group.Serve(func(g *group.Group, s *web.Server) error {
		vault, client := sealing.Vault(g.Cloud), outward.Client(g.Cloud)
		all := connectors.All(g.Cloud, client)
		examiner := certify.Examiner{Connectors: all, Client: client, Engine: policy.Rules{Now: g.Now}, Now: g.Now}
		courier := outward.Courier(g.Cloud, g.Store, vault, client)
		integrations.Register(s.API(), integrations.Deps{Connectors: all, Examiner: examiner, Courier: courier, Vault: vault, Now: g.Now})
		return nil
	})
}
