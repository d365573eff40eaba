// Command lambda is the dispatcher as a Lambda function on the table's stream.
package main

import (
	"orgops/functions/dispatcher"
	"orgops/shared/boot/cloud"
	"orgops/shared/boot/cloud/data"
	"orgops/shared/boot/cloud/outward"
	"orgops/shared/boot/cloud/queues"
	"orgops/shared/boot/cloud/sealing"
	"orgops/shared/lambda/start"
	"orgops/shared/lambda/stream"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[stream.Event, stream.Answer], error) {
		st := data.Main(c)
		courier := outward.Courier(c, st, sealing.Vault(c), outward.Client(c))
		d := dispatcher.New(dispatcher.Deps{
			Store: st, Courier: courier, Retries: queues.Retries(c), Syncs: queues.Syncs(c), Logger: c.Logger,
			Metrics: c.Metrics, Now: c.Now, Separate: true,
		})
		return stream.Run(d.Run, c.Logger), nil
	})
}
