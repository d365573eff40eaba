// Command lambda is the route group auth as a Lambda function.
package main

import (
	"orgops/functions/auth"
	"orgops/shared/boot/cloud/group"
	"orgops/shared/password"
	"orgops/shared/web"
)

func main() {
	group.ServeSigning(func(g *group.Group, s *web.Server) error {
		auth.Register(s.API(), auth.Deps{
			Store: g.Store, Hasher: password.New(), Keys: g.Keys, Now: g.Now, Metrics: g.Metrics,
		})
		return nil
	})
}
