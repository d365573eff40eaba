package dynamostore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/awsclient"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
)

// kept is what a restore must keep of a table.
type kept struct {
	Stream    types.StreamViewType
	Expires   string
	Days      int32
	Tags      map[string]string
	Protected bool
	Items     int32
}

func keptOf(t *testing.T, client *dynamodb.Client, table string) (is kept) {
	t.Helper()
	ctx := t.Context()
	described, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	errtest.Must(t, err)
	if s := described.Table.StreamSpecification; s != nil {
		is.Stream = s.StreamViewType
	}
	is.Protected = aws.ToBool(described.Table.DeletionProtectionEnabled)
	expiry, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	errtest.Must(t, err)
	is.Expires = aws.ToString(expiry.TimeToLiveDescription.AttributeName)
	backups, err := client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &table})
	errtest.Must(t, err)
	is.Days = aws.ToInt32(backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription.RecoveryPeriodInDays)
	tags, err := client.ListTagsOfResource(ctx, &dynamodb.ListTagsOfResourceInput{ResourceArn: described.Table.TableArn})
	errtest.Must(t, err)
	is.Tags = map[string]string{}
	for _, tag := range tags.Tags {
		is.Tags[*tag.Key] = *tag.Value
	}
	items, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: &table, Select: types.SelectCount})
	errtest.Must(t, err)
	is.Items = items.Count
	return is
}

// recoverable creates a table as the deployment does.
func recoverable(t *testing.T, access awsclient.Access, client *dynamodb.Client, table string, stream bool) {
	t.Helper()
	ctx := t.Context()
	errtest.Must(t, dynamostore.Create(ctx, access, table, dynamostore.Shape{Stream: stream, TTL: true}))
	_, err := client.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{
		TableName: &table, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: aws.Bool(true), RecoveryPeriodInDays: aws.Int32(9),
		},
	})
	errtest.Must(t, err)
	described, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	errtest.Must(t, err)
	_, err = client.TagResource(ctx, &dynamodb.TagResourceInput{ResourceArn: described.Table.TableArn, Tags: []types.Tag{
		{Key: aws.String("service"), Value: aws.String("orgops")}, {Key: aws.String("tenant"), Value: aws.String("acme")},
	}})
	errtest.Must(t, err)
	_, err = client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "C#1"}, "sk": &types.AttributeValueMemberS{Value: "GOAL#1"},
	}})
	errtest.Must(t, err)
}

func TestRestore(t *testing.T) {
	t.Parallel()
	access := awstest.Access(t, awstest.Tables(moto))
	client := dynamodb.New(dynamodb.Options{Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.BaseEndpoint("DYNAMODB")})
	for _, tt := range []struct {
		name   string
		stream types.StreamViewType
	}{{"main", types.StreamViewTypeNewAndOldImages}, {"keys", ""}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			recoverable(t, access, client, tt.name, tt.stream != "")
			want := kept{
				Stream: tt.stream, Expires: "expires", Days: 9, Tags: map[string]string{"service": "orgops", "tenant": "acme"}, Protected: true, Items: 1,
			}
			for _, when := range []string{"once", "again"} {
				stream, err := dynamostore.Restore(t.Context(), access, dynamostore.Restoration{From: tt.name, To: tt.name + "-2", Stream: tt.stream != "", Look: time.Millisecond})
				errtest.Must(t, err)
				if got, want := strings.Contains(stream, ":table/"+tt.name+"-2/stream/"), tt.stream != ""; got != want {
					t.Errorf("%s: stream %q, want the restored table's: %t", when, stream, want)
				}
				if diff := cmp.Diff(want, keptOf(t, client, tt.name+"-2")); diff != "" {
					t.Errorf("%s: the restored table (-want +got):\n%s", when, diff)
				}
			}
		})
	}
}
