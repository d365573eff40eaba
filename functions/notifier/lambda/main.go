// Command lambda runs the notifier as a Lambda function on its queue.
package main

import (
	"orgops/functions/notifier"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/dynamodb"
	"orgops/shared/run/cloud/kms"
	"orgops/shared/run/cloud/ses"
	"orgops/shared/run/cloud/sqs"
	"orgops/shared/run/lambda/start"
	"orgops/shared/run/lambda/work"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[work.Event, work.Answer], error) {
		n := notifier.From(c.Services(dynamodb.Add, kms.Add, sqs.AddNotices, ses.Add, cloud.Egress))
		return work.Each(n.Worker(), c.Now), nil
	})
}
