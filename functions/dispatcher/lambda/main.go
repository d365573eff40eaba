// Command lambda runs the dispatcher as a Lambda function on the table's stream.
package main

import (
	"orgops/functions/dispatcher"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/dynamodb"
	"orgops/shared/run/cloud/kms"
	"orgops/shared/run/cloud/policies"
	"orgops/shared/run/cloud/sqs"
	"orgops/shared/run/lambda/start"
	"orgops/shared/run/lambda/stream"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[stream.Event, stream.Answer], error) {
		s := c.Services(cloud.Egress, dynamodb.Add, kms.Add, policies.Add, sqs.AddRetries, sqs.AddSyncs, sqs.AddNotices)
		return stream.Run(dispatcher.From(s).Run, s.Lot(dispatcher.Consumer)), nil
	})
}
