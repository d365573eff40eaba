package sqsqueue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"orgops/shared/awsclient"
)

// deadSuffix ends the name of a queue of dead letters.
const deadSuffix = "-dead"

// receives is how often SQS hands a message out before it buries it by itself: one that no worker survives. Workers count
// for themselves and bury long before.
const receives = 100

// retention is the most that SQS keeps a message, in seconds: 14 days.
const retention = 14 * 24 * 60 * 60

// CreatePair makes, where they are missing, a standard queue with this name and the queue of its dead letters, whose name
// ends in -dead, and returns their URLs. What is there stays as it is. It is for emulators and tests; the real queues are
// the deployment's.
func CreatePair(ctx context.Context, access awsclient.Access, name string) (url, dead string, err error) {
	client := newClient(access)
	keep := map[string]string{string(types.QueueAttributeNameMessageRetentionPeriod): strconv.Itoa(retention)}
	if dead, err = create(ctx, client, name+deadSuffix, keep); err != nil {
		return "", "", err
	}
	about, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &dead, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	if err != nil {
		return "", "", fmt.Errorf("queue %s%s: %w", name, deadSuffix, outside(ctx, err))
	}
	keep[string(types.QueueAttributeNameRedrivePolicy)] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"%d"}`,
		about.Attributes[string(types.QueueAttributeNameQueueArn)], receives)
	url, err = create(ctx, client, name, keep)
	return url, dead, err
}

func create(ctx context.Context, client *sqs.Client, name string, attributes map[string]string) (url string, err error) {
	found, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err == nil {
		return aws.ToString(found.QueueUrl), nil
	}
	var missing *types.QueueDoesNotExist
	if !errors.As(err, &missing) {
		return "", fmt.Errorf("queue %s: %w", name, outside(ctx, err))
	}
	made, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		return "", fmt.Errorf("create queue %s: %w", name, outside(ctx, err))
	}
	return aws.ToString(made.QueueUrl), nil
}
