package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"orgops/shared/base/awsclient"
	"orgops/shared/base/wait"
)

// Restoration describes a restore of a table to a point in time, as another table.
type Restoration struct {
	From, To string
	At       time.Time     // zero: the latest moment that can be restored
	Stream   bool          // stream the changes with old and new images; a feed needs this
	Look     time.Duration // pause between two looks at a table that is not ready
}

// Restore restores a table as another table, and gives that what AWS restores of no table: a stream, TTL, deletion protection,
// and the tags and the point-in-time recovery of the former table. It returns the ARN of the stream, "" without one. A repeated
// call continues where the last one stopped. AWS needs from 20 minutes to hours.
func Restore(ctx context.Context, access awsclient.Access, r Restoration) (stream string, err error) {
	t := restoring{client: newClient(access), r: r}
	from, err := t.describe(ctx, r.From)
	if err != nil {
		return "", fmt.Errorf("table %s: %w", r.From, err)
	}
	for _, step := range []struct {
		name string
		do   func(context.Context, *types.TableDescription) error
	}{
		{"restore", t.restore}, {"time to live", t.expire}, {"point-in-time recovery", t.recover}, {"tags", t.tag},
		{"deletion protection", t.protect}, {"stream", t.stream},
	} {
		if err := step.do(ctx, from); err != nil {
			return "", fmt.Errorf("table %s, %s: %w", r.To, step.name, err)
		}
	}
	to, err := t.active(ctx)
	if err != nil {
		return "", fmt.Errorf("table %s: %w", r.To, err)
	}
	return aws.ToString(to.LatestStreamArn), nil
}

type restoring struct {
	client *dynamodb.Client
	r      Restoration
}

func (t restoring) describe(ctx context.Context, table string) (*types.TableDescription, error) {
	out, err := t.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return nil, err
	}
	return out.Table, nil
}

// active waits until the restored table is active, which a table is not while it is restored or changed.
func (t restoring) active(ctx context.Context) (*types.TableDescription, error) {
	for {
		to, err := t.describe(ctx, t.r.To)
		if err != nil || to.TableStatus == types.TableStatusActive {
			return to, err
		}
		if !wait.For(ctx, t.r.Look) {
			return nil, fmt.Errorf("the table is still %s; repeat the command, which continues: %w", to.TableStatus, ctx.Err())
		}
	}
}

// restore begins the restore, unless an earlier call has. AWS keeps the encryption key of the former table.
func (t restoring) restore(ctx context.Context, _ *types.TableDescription) error {
	_, err := t.describe(ctx, t.r.To)
	var absent *types.ResourceNotFoundException
	if errors.As(err, &absent) {
		in := &dynamodb.RestoreTableToPointInTimeInput{SourceTableName: &t.r.From, TargetTableName: &t.r.To, UseLatestRestorableTime: aws.Bool(true)}
		if !t.r.At.IsZero() {
			in.UseLatestRestorableTime, in.RestoreDateTime = nil, &t.r.At
		}
		_, err = t.client.RestoreTableToPointInTime(ctx, in)
	}
	if err != nil {
		return err
	}
	_, err = t.active(ctx)
	return err
}

func (t restoring) expire(ctx context.Context, _ *types.TableDescription) error {
	return expireItems(ctx, t.client, t.r.To)
}

// recover enables point-in-time recovery for as many days as the former table has it.
func (t restoring) recover(ctx context.Context, _ *types.TableDescription) error {
	was, err := t.client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &t.r.From})
	if err != nil {
		return err
	}
	how := &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)}
	if d := was.ContinuousBackupsDescription; d != nil && d.PointInTimeRecoveryDescription != nil {
		how.RecoveryPeriodInDays = d.PointInTimeRecoveryDescription.RecoveryPeriodInDays
	}
	_, err = t.client.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{TableName: &t.r.To, PointInTimeRecoverySpecification: how})
	return err
}

// tag copies the tags, but for those that AWS itself sets.
func (t restoring) tag(ctx context.Context, from *types.TableDescription) error {
	to, err := t.active(ctx)
	if err != nil {
		return err
	}
	var tags []types.Tag
	for in := (&dynamodb.ListTagsOfResourceInput{ResourceArn: from.TableArn}); ; {
		page, err := t.client.ListTagsOfResource(ctx, in)
		if err != nil {
			return err
		}
		for _, tag := range page.Tags {
			if !strings.HasPrefix(aws.ToString(tag.Key), "aws:") {
				tags = append(tags, tag)
			}
		}
		if in.NextToken = page.NextToken; in.NextToken == nil {
			break
		}
	}
	if len(tags) == 0 {
		return nil
	}
	_, err = t.client.TagResource(ctx, &dynamodb.TagResourceInput{ResourceArn: to.TableArn, Tags: tags})
	return err
}

func (t restoring) protect(ctx context.Context, _ *types.TableDescription) error {
	if to, err := t.active(ctx); err != nil || aws.ToBool(to.DeletionProtectionEnabled) {
		return err
	}
	_, err := t.client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &t.r.To, DeletionProtectionEnabled: aws.Bool(true)})
	return err
}

// stream enables the stream. A table takes one change at a time, so this waits for the one before.
func (t restoring) stream(ctx context.Context, _ *types.TableDescription) error {
	to, err := t.active(ctx)
	if err != nil || !t.r.Stream || to.StreamSpecification != nil && aws.ToBool(to.StreamSpecification.StreamEnabled) {
		return err
	}
	how := &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages}
	_, err = t.client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &t.r.To, StreamSpecification: how})
	return err
}
