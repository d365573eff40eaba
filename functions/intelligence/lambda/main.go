// Command lambda is the route group intelligence as a Lambda function.
package main

import (
	"orgops/functions/intelligence"
	"orgops/shared/boot/cloud/group"
	"orgops/shared/web"
)

func main() {
	group.Serve(func(g *group.Group, s *web.Server) error {
		intelligence.Register(s.API(), intelligence.Deps{Now: g.Now})
		return nil
	})
}
