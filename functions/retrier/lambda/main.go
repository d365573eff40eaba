// Command lambda is the retrier as a Lambda function on its queue.
package main

import (
	"orgops/functions/retrier"
	"orgops/shared/boot/cloud"
	"orgops/shared/boot/cloud/data"
	"orgops/shared/boot/cloud/outward"
	"orgops/shared/boot/cloud/queues"
	"orgops/shared/boot/cloud/sealing"
	"orgops/shared/lambda/start"
	"orgops/shared/lambda/work"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[work.Event, work.Answer], error) {
		st := data.Main(c)
		courier := outward.Courier(c, st, sealing.Vault(c), outward.Client(c))
		r := retrier.New(retrier.Deps{Store: st, Courier: courier, Queue: queues.Retries(c), Logger: c.Logger, Now: c.Now})
		return work.Each(r.Worker(), c.Now), nil
	})
}
