// Command lambda is the route group inbound as a Lambda function.
package main

import (
	"orgops/functions/inbound"
	"orgops/shared/boot/cloud/group"
	"orgops/shared/boot/cloud/outward"
	"orgops/shared/boot/cloud/receivers"
	"orgops/shared/boot/cloud/sealing"
	"orgops/shared/policy"
	"orgops/shared/web"
)

func main() {
	group.Serve(func(g *group.Group, s *web.Server) error {
		inbound.Register(s.API(), inbound.Deps{
			Company: g.Company, Connectors: receivers.All(outward.Client(g.Cloud)), Vault: sealing.Vault(g.Cloud),
			Engine: policy.Rules{Now: g.Now}, Metrics: g.Metrics, Now: g.Now,
		})
		return nil
	})
}
