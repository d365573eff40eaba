package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"orgops/shared/awsclient"
)

// Shape is what a table has beside its key.
type Shape struct {
	Stream bool // of its changes, with the images before and after: what a feed needs
	TTL    bool // what has expired is removed in time; a reader does not see it before either
}

// Create makes a table if it is missing, on demand, and waits until it can be used. One that is there stays as it is, but
// for TTL, which is turned on where the shape has it. It is for emulators and tests; the real tables are the deployment's.
func Create(ctx context.Context, access awsclient.Access, table string, shape Shape) error {
	return create(ctx, newClient(access), table, shape)
}

// CreateTable is Create for the store's table, with a stream and without TTL: a test decides itself when what has expired
// is removed.
func (s *Store) CreateTable(ctx context.Context) error {
	return create(ctx, s.client, s.o.Table, Shape{Stream: true})
}

func create(ctx context.Context, client *dynamodb.Client, table string, shape Shape) error {
	in := &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(attrPartition), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(attrKey), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(attrPartition), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(attrKey), KeyType: types.KeyTypeRange},
		},
	}
	if shape.Stream {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages}
	}
	_, err := client.CreateTable(ctx, in)
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("create table %s: %w", table, err)
	}
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 100 * time.Millisecond })
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &table}, time.Minute); err != nil {
		return fmt.Errorf("create table %s: %w", table, err)
	}
	if !shape.TTL {
		return nil
	}
	if err := expireItems(ctx, client, table); err != nil {
		return fmt.Errorf("time to live of table %s: %w", table, err)
	}
	return nil
}

// expireItems turns TTL on. DynamoDB refuses to be told twice.
func expireItems(ctx context.Context, client *dynamodb.Client, table string) error {
	out, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil {
		return err
	}
	if d := out.TimeToLiveDescription; d != nil && (d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling) {
		return nil
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &table, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(attrExpires), Enabled: aws.Bool(true)},
	})
	return err
}
