package dynamostream

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"orgops/shared/storage/store/dynamostore"
)

// recordOf converts a record of the SDK.
func recordOf(r types.Record) dynamostore.Record {
	if r.Dynamodb == nil {
		return dynamostore.Record{}
	}
	return dynamostore.Record{
		Sequence: aws.ToString(r.Dynamodb.SequenceNumber), Created: aws.ToTime(r.Dynamodb.ApproximateCreationDateTime),
		Old: texts(r.Dynamodb.OldImage), New: texts(r.Dynamodb.NewImage),
	}
}

func texts(item map[string]types.AttributeValue) map[string]string {
	if len(item) == 0 {
		return nil
	}
	out := make(map[string]string, len(item))
	for name, value := range item {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			out[name] = v.Value
		case *types.AttributeValueMemberN:
			out[name] = v.Value
		case *types.AttributeValueMemberB:
			out[name] = string(v.Value)
		case *types.AttributeValueMemberBOOL:
			if v.Value {
				out[name] = "true"
			}
		}
	}
	return out
}
