// Command lambda is the route group memory as a Lambda function.
package main

import (
	"orgops/functions/memory"
	"orgops/shared/boot/cloud/connectors"
	"orgops/shared/boot/cloud/group"
	"orgops/shared/boot/cloud/outward"
	"orgops/shared/web"
)

func main() {
	group.Serve(func(g *group.Group, s *web.Server) error {
		memory.Register(s.API(), memory.Deps{Connectors: connectors.All(g.Cloud, outward.Client(g.Cloud)), Now: g.Now})
		return nil
	})
}
