package main

// units counts requests to the services that AWS charges by the request.
type units struct {
	gets, queries, puts, deletes, transactions int // round trips to DynamoDB, by its operations

	// read and written count capacity units: a strongly consistent read takes one per started 4 KB, a write one per started 1
	// KB, and twice that in a transaction.
	read, written float64

	queue   int // requests to SQS, without those of Lambda's pollers
	keys    int // requests to KMS
	secrets int // requests to Secrets Manager
	lines   int // lines of metrics in the function's log
}
