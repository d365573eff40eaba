package main

// units is what something asks of the services that AWS charges by the request.
type units struct {
	gets, queries, puts, deletes, transactions int // round trips to DynamoDB, by its operations

	// read and written are capacity units: a read of 4 KB begun, every read strongly consistent; a write of 1 KB begun,
	// in a transaction two.
	read, written float64

	queue   int // requests to SQS; what Lambda's pollers ask is not among them
	keys    int // requests to KMS
	secrets int // requests to Secrets Manager
}
