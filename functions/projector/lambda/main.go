// Command lambda is the projector as a Lambda function on the table's stream.
package main

import (
	"orgops/functions/projector"
	"orgops/shared/boot/cloud"
	"orgops/shared/boot/cloud/data"
	"orgops/shared/lambda/start"
	"orgops/shared/lambda/stream"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[stream.Event, stream.Answer], error) {
		p := &projector.Projector{Store: data.Main(c), Logger: c.Logger, Metrics: c.Metrics}
		return stream.ByCompany(p.Handle, c.Logger), nil
	})
}
