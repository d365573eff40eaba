// Command lambda is the route group missioncontrol as a Lambda function.
package main

import (
	"orgops/functions/missioncontrol"
	"orgops/shared/boot/cloud/group"
	"orgops/shared/web"
)

func main() {
	group.Serve(func(g *group.Group, s *web.Server) error {
		missioncontrol.Register(s.API(), missioncontrol.Deps{Now: g.Now})
		return nil
	})
}
