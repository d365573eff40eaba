// Command lambda runs the syncer as a Lambda function on its queue.
package main

import (
	"orgops/functions/syncer"
	"orgops/shared/provider/catalog/fetching"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/dynamodb"
	"orgops/shared/run/cloud/kms"
	"orgops/shared/run/cloud/policies"
	"orgops/shared/run/cloud/secretsmanager"
	"orgops/shared/run/cloud/sqs"
	"orgops/shared/run/lambda/start"
	"orgops/shared/run/lambda/work"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[work.Event, work.Answer], error) {
		s := syncer.From(c.Services(dynamodb.Add, kms.Add, sqs.AddSyncs, policies.Add, secretsmanager.AddApplications, cloud.Connectors(fetching.All)))
		return work.Each(s.Worker(), c.Now), nil
	})
}
