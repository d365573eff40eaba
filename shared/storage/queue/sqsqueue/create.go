package sqsqueue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"orgops/shared/base/awsclient"
)

// deadSuffix ends the name of a dead-letter queue.
const deadSuffix = "-dead"

// maxReceives makes SQS bury a message that crashes every worker. Workers count deliveries too and bury far earlier.
const maxReceives = 100

// retention makes SQS keep a message for 14 days, its maximum, in seconds.
const retention = 14 * 24 * 60 * 60

// CreatePair creates a standard queue with this name and its dead-letter queue, whose name ends in -dead, and returns their
// URLs. It leaves existing queues as they are. It serves emulators and tests; the deployment creates the real queues.
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
		return "", "", fmt.Errorf("queue %s%s: %w", name, deadSuffix, contractError(ctx, err))
	}
	keep[string(types.QueueAttributeNameRedrivePolicy)] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"%d"}`,
		about.Attributes[string(types.QueueAttributeNameQueueArn)], maxReceives)
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
		return "", fmt.Errorf("queue %s: %w", name, contractError(ctx, err))
	}
	made, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		return "", fmt.Errorf("create queue %s: %w", name, contractError(ctx, err))
	}
	return aws.ToString(made.QueueUrl), nil
}
