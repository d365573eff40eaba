// Command lambda is the syncer as a Lambda function on its queue.
package main

import (
	"time"

	"orgops/functions/syncer"
	"orgops/shared/boot/cloud"
	"orgops/shared/boot/cloud/connectors"
	"orgops/shared/boot/cloud/data"
	"orgops/shared/boot/cloud/outward"
	"orgops/shared/boot/cloud/queues"
	"orgops/shared/boot/cloud/sealing"
	"orgops/shared/lambda/start"
	"orgops/shared/lambda/work"
	"orgops/shared/policy"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[work.Event, work.Answer], error) {
		s := &syncer.Syncer{Store: data.Main(c), Jobs: queues.Syncs(c), Connectors: connectors.All(c, outward.Client(c)),
			Vault: sealing.Vault(c), Engine: policy.Rules{Now: c.Now}, Logger: c.Logger, Metrics: c.Metrics, Now: c.Now, Slice: time.Minute}
		return work.Each(s.Worker(), c.Now), nil
	})
}
