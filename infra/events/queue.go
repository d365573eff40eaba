package events

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/function"
)

// Queue holds a work queue with its dead-letter queue.
type Queue struct {
	awssqs.Queue
	Dead     awssqs.Queue
	variable string // prefix of the environment variables with the queues' URLs, such as ORGOPS_RETRIES
}

// receives sets how often SQS hands a message out before it moves it to the dead letters. Workers count attempts and give up
// much earlier; this limit is for a message that crashes every worker.
const receives = 100

// margin is how many seconds longer than its worker may run a message is hidden. A worker that fails shows its message again
// sooner; the margin is for a worker that dies. AWS recommends six times the timeout for workers that are throttled, but
// MaximumConcurrency keeps these from being called at all.
const margin = 10

func newQueue(scope constructs.Construct, name, variable string, timeout float64) *Queue {
	dead := letters(scope, name+"Dead")
	return &Queue{
		Dead: dead, variable: variable,
		Queue: awssqs.NewQueue(scope, &name, &awssqs.QueueProps{
			Encryption: awssqs.QueueEncryption_SQS_MANAGED, EnforceSSL: jsii.Bool(true),
			VisibilityTimeout: awscdk.Duration_Seconds(jsii.Number(timeout + margin)),
			RetentionPeriod:   awscdk.Duration_Days(jsii.Number(14)),
			DeadLetterQueue:   &awssqs.DeadLetterQueue{Queue: dead, MaxReceiveCount: jsii.Number(receives)},
		}),
	}
}

// letters creates a queue that only an operator empties.
func letters(scope constructs.Construct, name string) awssqs.Queue {
	return awssqs.NewQueue(scope, &name, &awssqs.QueueProps{
		Encryption: awssqs.QueueEncryption_SQS_MANAGED, EnforceSSL: jsii.Bool(true),
		RetentionPeriod: awscdk.Duration_Days(jsii.Number(14)),
	})
}

const fairVariable = "ORGOPS_FAIR_QUEUES"

// Send lets a function send work to the queue.
func (q *Queue) Send(f *function.Function) {
	f.Set(q.variable+"_QUEUE", *q.QueueUrl())
	f.Set(fairVariable, "true")
	f.Allow([]string{"sqs:SendMessage"}, nil, *q.QueueArn())
}

// WorkedBy makes a function the queue's worker: it may receive, delay and dead-letter messages. If the worker has reserved
// concurrency, the queue's limit follows it, because a refused call would count as an attempt at its messages. SQS requires a
// limit of at least two.
func (q *Queue) WorkedBy(f *function.Function) {
	calls := f.QueueCalls
	if f.Reserved > 0 {
		calls = min(calls, max(f.Reserved, 2))
	}
	q.Send(f)
	f.Set(q.variable+"_DEAD_LETTERS", *q.Dead.QueueUrl())
	f.Allow([]string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"}, nil, *q.QueueArn())
	f.Allow([]string{"sqs:SendMessage"}, nil, *q.Dead.QueueArn())
	mapping := awslambda.NewCfnEventSourceMapping(f.Function, jsii.String("Work"), &awslambda.CfnEventSourceMappingProps{
		FunctionName: f.FunctionName(), EventSourceArn: q.QueueArn(), BatchSize: jsii.Number(10),
		FunctionResponseTypes: jsii.Strings("ReportBatchItemFailures"),
		ScalingConfig:         &awslambda.CfnEventSourceMapping_ScalingConfigProperty{MaximumConcurrency: &calls},
	})
	mapping.Node().AddDependency(f.Role())
}
