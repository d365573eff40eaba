package events

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/function"
)

// Queue is a queue of work with its dead letters.
type Queue struct {
	awssqs.Queue
	Dead     awssqs.Queue
	variable string // ORGOPS_RETRIES: prefix of the names of the variables that say where it is
}

// receives is how often SQS hands a message out before it buries it. Workers count for themselves and bury long before:
// this is for a message that no worker survives.
const receives = 100

func newQueue(scope constructs.Construct, name, variable string, timeout float64) *Queue {
	dead := letters(scope, name+"Dead")
	return &Queue{
		Dead: dead, variable: variable,
		Queue: awssqs.NewQueue(scope, &name, &awssqs.QueueProps{
			Encryption: awssqs.QueueEncryption_SQS_MANAGED, EnforceSSL: jsii.Bool(true),
			VisibilityTimeout: awscdk.Duration_Seconds(jsii.Number(6 * timeout)),
			RetentionPeriod:   awscdk.Duration_Days(jsii.Number(14)),
			DeadLetterQueue:   &awssqs.DeadLetterQueue{Queue: dead, MaxReceiveCount: jsii.Number(receives)},
		}),
	}
}

// letters is a queue that only a person empties.
func letters(scope constructs.Construct, name string) awssqs.Queue {
	return awssqs.NewQueue(scope, &name, &awssqs.QueueProps{
		Encryption: awssqs.QueueEncryption_SQS_MANAGED, EnforceSSL: jsii.Bool(true),
		RetentionPeriod: awscdk.Duration_Days(jsii.Number(14)),
	})
}

// Send lets a function put work into the queue.
func (q *Queue) Send(f *function.Function) {
	f.Set(q.variable+"_QUEUE", *q.QueueUrl())
	f.Set("ORGOPS_FAIR_QUEUES", "true")
	f.Allow([]string{"sqs:SendMessage"}, nil, *q.QueueArn())
}

// atOnce is how many calls of its worker a queue makes at once at most. An account has 1,000 for all of its functions unless
// it asks for more, and a queue that has gathered a day's deliveries would take them all; this leaves the API most of them.
// Beyond it messages wait in the queue, and count no attempt.
const atOnce = 100

// WorkedBy makes a function the queue's worker: it takes, puts off, and buries in the dead letters. Where concurrency is
// reserved for the worker, the queue keeps to it: a call that is refused would be an attempt at its messages. SQS takes no
// bound under two.
func (q *Queue) WorkedBy(f *function.Function) {
	calls := float64(atOnce)
	if f.Reserved > 0 {
		calls = min(calls, max(f.Reserved, 2))
	}
	q.Send(f)
	f.Set(q.variable+"_DEAD_LETTERS", *q.Dead.QueueUrl())
	f.Allow([]string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}, nil, *q.QueueArn())
	f.Allow([]string{"sqs:SendMessage"}, nil, *q.Dead.QueueArn())
	mapping := awslambda.NewCfnEventSourceMapping(f.Function, jsii.String("Work"), &awslambda.CfnEventSourceMappingProps{
		FunctionName: f.FunctionName(), EventSourceArn: q.QueueArn(), BatchSize: jsii.Number(10),
		FunctionResponseTypes: jsii.Strings("ReportBatchItemFailures"),
		ScalingConfig:         &awslambda.CfnEventSourceMapping_ScalingConfigProperty{MaximumConcurrency: &calls},
	})
	mapping.Node().AddDependency(f.Role())
}
