// Command lambda runs the retrier as a Lambda function on its queue.
package main

import (
	"orgops/functions/retrier"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/dynamodb"
	"orgops/shared/run/cloud/kms"
	"orgops/shared/run/cloud/policies"
	"orgops/shared/run/cloud/sqs"
	"orgops/shared/run/lambda/start"
	"orgops/shared/run/lambda/work"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[work.Event, work.Answer], error) {
		r := retrier.From(c.Services(cloud.Egress, dynamodb.Add, kms.Add, policies.Add, sqs.AddRetries))
		return work.Each(r.Worker(), c.Now), nil
	})
}
