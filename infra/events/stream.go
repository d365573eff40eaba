package events

import (
	"encoding/json"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/data"
	"orgops/infra/function"
	"orgops/shared/company"
	"orgops/shared/delivery"
	"orgops/shared/goal"
	"orgops/shared/integration"
	"orgops/shared/memory"
	"orgops/shared/recovery"
	"orgops/shared/syncrun"
	"orgops/shared/timeline"
)

// projected are the entities whose changes are folded into a company's context.
func projected() []string {
	return []string{
		company.Entity, delivery.Entity, goal.Entity, integration.Entity, memory.Entity, syncrun.Entity, timeline.Entity,
	}
}

// dispatched are the entities whose changes become events or work, and integrations, whose change makes the dispatcher
// forget what it knows of them.
func dispatched() []string {
	return []string{
		delivery.Entity, goal.Entity, integration.Entity, memory.Entity, recovery.Entity, syncrun.Entity, timeline.Entity,
	}
}

// following is how a function reads the stream.
type following struct {
	batch    float64 // records at most
	parallel float64 // batches of a shard at the same time; a partition key's stay in order
	attempts float64 // at a batch, halved each time until the bad record stands alone
	age      float64 // seconds after which a record is given up; else a bad one holds up its shard for a day
	window   float64 // seconds to gather a batch
}

// follow makes a function a reader of the stream. Of what it gives up, the failed queue is told where it was.
func (e *Events) follow(d *data.Data, f *function.Function, entities []string, how following) {
	d.Follow(f)
	f.Allow([]string{"sqs:SendMessage"}, nil, *e.Failed.QueueArn())
	mapping := awslambda.NewCfnEventSourceMapping(f.Function, jsii.String("Changes"), &awslambda.CfnEventSourceMappingProps{
		FunctionName: f.FunctionName(), EventSourceArn: d.Main.TableStreamArn(), StartingPosition: jsii.String("TRIM_HORIZON"),
		BatchSize: &how.batch, ParallelizationFactor: &how.parallel, MaximumBatchingWindowInSeconds: &how.window,
		MaximumRetryAttempts: &how.attempts, MaximumRecordAgeInSeconds: &how.age,
		BisectBatchOnFunctionError: jsii.Bool(true), FunctionResponseTypes: jsii.Strings("ReportBatchItemFailures"),
		FilterCriteria: &awslambda.CfnEventSourceMapping_FilterCriteriaProperty{Filters: filters(entities)},
		DestinationConfig: &awslambda.CfnEventSourceMapping_DestinationConfigProperty{
			OnFailure: &awslambda.CfnEventSourceMapping_OnFailureProperty{Destination: e.Failed.QueueArn()},
		},
	})
	mapping.Node().AddDependency(f.Role())
}

// filters let through committed changes of companies' items of these entities: what an item has become, or what it was
// when it was removed. Out stay quiet writes, but for those over an item that had run out and was not quiet, which are its
// removal, and the end of a tombstone. A filter costs nothing; an invocation that finds nothing to do does.
func filters(entities []string) []any {
	type fields = map[string]any
	absent := fields{"BOOL": []any{fields{"exists": false}}}
	filter := func(image fields, events ...string) any {
		image["Keys"] = fields{"pk": fields{"S": []any{fields{"prefix": "C#"}}}}
		pattern, err := json.Marshal(fields{"eventName": events, "dynamodb": image})
		if err != nil { // strings in maps
			panic(err)
		}
		return &awslambda.CfnEventSourceMapping_FilterProperty{Pattern: jsii.String(string(pattern))}
	}
	entity := fields{"S": entities}
	return []any{
		filter(fields{"NewImage": fields{"entity": entity, "quiet": absent}}, "INSERT", "MODIFY"),
		filter(fields{"OldImage": fields{"entity": entity, "quiet": absent, "gone": absent}}, "REMOVE"),
		filter(fields{
			"OldImage": fields{"entity": entity, "quiet": absent, "gone": absent, "expires": fields{"N": []any{fields{"exists": true}}}},
			"NewImage": fields{"quiet": fields{"BOOL": []bool{true}}},
		}, "MODIFY"),
	}
}
