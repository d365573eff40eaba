// Command lambda is the ticker as a Lambda function that a schedule calls.
package main

import (
	"context"

	"orgops/functions/ticker"
	"orgops/shared/boot/cloud"
	"orgops/shared/boot/cloud/data"
	"orgops/shared/lambda/start"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[struct{}, struct{}], error) {
		t := &ticker.Ticker{Store: data.Main(c), Logger: c.Logger, Metrics: c.Metrics, Now: c.Now}
		return func(ctx context.Context, _ struct{}) (struct{}, error) { return struct{}{}, t.Tick(ctx) }, nil
	})
}
