package dynamostore

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Ready returns an error when the table cannot be used: it is missing or not active, or the store has consumers but the
// table has no stream of new and old images. It returns DynamoDB's errors unwrapped.
func (s *Store) Ready(ctx context.Context) error {
	out, err := s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.o.Table})
	if err != nil {
		return err
	}
	table := out.Table
	if table.TableStatus != types.TableStatusActive && table.TableStatus != types.TableStatusUpdating {
		return fmt.Errorf("the table is %s", table.TableStatus)
	}
	stream := table.StreamSpecification
	if len(s.o.Consumers) > 0 && (stream == nil || stream.StreamViewType != types.StreamViewTypeNewAndOldImages) {
		return errors.New("the table has no stream of new and old images")
	}
	return nil
}
