// Command lambda runs the projector as a Lambda function on the table's stream.
package main

import (
	"orgops/functions/projector"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/dynamodb"
	"orgops/shared/run/lambda/start"
	"orgops/shared/run/lambda/stream"
)

func main() {
	start.Run(func(c *cloud.Cloud) (start.Handler[stream.Event, stream.Answer], error) {
		s := c.Services(dynamodb.Add)
		return stream.ByCompany(projector.From(s).Handle, s.Lot(projector.Consumer)), nil
	})
}
