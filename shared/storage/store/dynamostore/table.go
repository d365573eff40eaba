package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"orgops/shared/base/awsclient"
)

// Shape selects the features of a table.
type Shape struct {
	Stream bool // stream the changes with old and new images; a feed needs this
	TTL    bool // remove expired items; readers never see them in any case
}

// Create creates an on-demand table if it is missing and waits until it is active. It leaves an existing table as it is, but
// enables TTL if shape says so. It serves emulators and tests; the deployment creates the real tables.
func Create(ctx context.Context, access awsclient.Access, table string, shape Shape) error {
	client := newClient(access)
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

// expireItems enables TTL, unless it is enabled: DynamoDB refuses to enable it twice.
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
