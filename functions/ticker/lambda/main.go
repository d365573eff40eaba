// Command lambda runs the ticker as a Lambda function on a schedule.
package main

import (
	"context"

	"orgops/functions/ticker"
	"orgops/shared/identity/usagekey/gatewaykeys"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/dynamodb"
	"orgops/shared/run/cloud/sqs"
	"orgops/shared/run/lambda/start"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[struct{}, struct{}], error) {
		t := ticker.From(c.Services(dynamodb.Add, dynamodb.AddDataKeys, sqs.AddRetries, sqs.AddSyncs))
		t.Plans = gatewaykeys.Open(c.Access, c.Settings.UsagePlans)
		t.Canary = true
		return func(ctx context.Context, _ struct{}) (struct{}, error) { return struct{}{}, t.Tick(ctx) }, nil
	})
}
