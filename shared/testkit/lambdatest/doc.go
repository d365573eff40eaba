// Package lambdatest tests Lambda functions. It runs a function's program as Lambda does, under the Runtime API: Build,
// Start, Invoke.
//
// Its tests use the sample events under events/, one folder for each function, in the shapes that API Gateway, DynamoDB
// Streams, SQS, EventBridge and Secrets Manager send. In a sample, ${token} stands for an access token, which a test makes
// when it sends the event. Webhooks in samples are signed with the secret "a signing secret for samples".
package lambdatest
