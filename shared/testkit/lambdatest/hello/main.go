// Command hello runs a minimal Lambda function, the baseline for measuring the cold starts of the others.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(func(context.Context) (string, error) { return "hello", nil })
}
