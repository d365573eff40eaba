// Package lambdatest holds what Lambda functions are tested with: the sample events under events/, one folder a function,
// in the shapes that API Gateway, DynamoDB Streams, SQS, EventBridge and Secrets Manager send.
//
// It also runs a function's program as Lambda does, under the Runtime API: Build, Start, Invoke.
//
// In a sample ${token} stands for an access token, which has to be made when it is sent. What is signed in a webhook is
// signed with the secret "a signing secret for samples".
package lambdatest
