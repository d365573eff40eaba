// Command lambda runs the ticker as a Lambda function on a schedule. If many timers are due, the function calls itself for each shard.
package main

import (
	"context"

	"orgops/functions/ticker"
	"orgops/shared/identity/usagekey/gatewaykeys"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/dynamodb"
	"orgops/shared/run/cloud/kms"
	"orgops/shared/run/cloud/sqs"
	"orgops/shared/run/lambda/itself"
	"orgops/shared/run/lambda/start"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[ticker.Event, struct{}], error) {
		t := ticker.From(c.Services(dynamodb.Add, dynamodb.AddDataKeys, kms.Add, sqs.AddRetries, sqs.AddSyncs, sqs.AddNotices))
		t.Plans = gatewaykeys.Open(c.Access, c.Settings.UsagePlans)
		t.Canary, t.Page, t.Ask = true, ticker.Alone, itself.Open(c.Access).Begin
		return func(ctx context.Context, e ticker.Event) (struct{}, error) { return struct{}{}, t.Handle(ctx, e) }, nil
	})
}
