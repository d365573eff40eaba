package awstest

import "testing"

// borrowed is a part as the endpoint of other services than its own.
type borrowed struct {
	part     *Part
	services []string
}

// Tables returns moto as DynamoDB, for tests of what DynamoDB Local lacks: point-in-time recovery, tags and protection.
func Tables(moto *Part) Place { return borrowed{moto, []string{"DYNAMODB"}} }

func (b borrowed) at(t testing.TB) (string, []string) {
	t.Helper()
	endpoint, _ := b.part.at(t)
	return endpoint, b.services
}
