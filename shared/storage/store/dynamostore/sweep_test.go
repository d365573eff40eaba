package dynamostore_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"orgops/shared/storage/store/dynamostore"
)

// swept wraps a store whose expired items a test removes in place of TTL, which is slow.
type swept struct {
	*dynamostore.Store
	table string
	now   func() time.Time
}

func (s swept) sweep(t *testing.T) {
	t.Helper()
	access := dynamo.Access(t)
	client := dynamodb.New(dynamodb.Options{Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.BaseEndpoint("DYNAMODB")})
	found, err := client.Scan(t.Context(), &dynamodb.ScanInput{
		TableName: &s.table, FilterExpression: aws.String("expires <= :now"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":now": &types.AttributeValueMemberN{Value: strconv.FormatInt(s.now().Unix(), 10)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range found.Items {
		_, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: &s.table, Key: map[string]types.AttributeValue{"pk": item["pk"], "sk": item["sk"]},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
