package events

import (
	"encoding/json"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/data"
	"orgops/infra/function"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/company"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/parked"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/insight/projection"
)

// projected lists the entities whose changes the projector folds into a company's context.
func projected() []string {
	return []string{
		approval.Entity, audit.Entity, company.Entity, delivery.Entity, executive.RecordEntity, goal.Entity, goal.ExplanationEntity, integration.Entity, memory.Entity,
		policy.Entity, policy.StoredEntity, projection.DueEntity, projection.MarkEntity, arrival.Entity, arrival.ReceiptEntity, recommendation.Entity, syncrun.Entity, timeline.Entity,
	}
}

// dispatched lists the entities whose changes become events or work. It includes integrations, because their changes clear
// the dispatcher's cache of integrations, and parked changes, because an operator gives them back by a write.
func dispatched() []string {
	return []string{
		approval.Entity, audit.Entity, delivery.Entity, executive.RecordEntity, goal.Entity, integration.Entity, memory.Entity, notice.Entity, parked.Entity,
		recovery.Entity, recommendation.ToldEntity, syncrun.Entity, timeline.Entity, user.Entity,
	}
}

// following sets how a function reads the stream.
type following struct {
	batch    float64 // maximum number of records
	parallel float64 // concurrent batches of a shard; above 1, Lambda keeps the order of each item only
	window   float64 // seconds to gather a batch
	tumbling float64 // seconds of a tumbling window; 0: none
}

// A batch is retried for half a day, because the stream keeps a record for a day: the operator has the other half to read the
// discarded records again. A reader parks what it does not understand and what ends its process, so a batch fails only for
// want of a store, a setting or a permission. An alarm reports it after five minutes.
const (
	unlimited = -1        // retries of a batch. A reader tries late changes one by one itself, so Lambda does not halve batches
	streamAge = 12 * 3600 // seconds
)

// follow makes a function a reader of the stream. The failed queue receives the position of each batch that Lambda discards.
func (e *Events) follow(d *data.Data, f *function.Function, entities []string, how following) {
	d.Follow(f)
	f.Allow([]string{"sqs:SendMessage"}, nil, *e.Failed.QueueArn())
	var tumbling *float64
	if how.tumbling > 0 {
		tumbling = &how.tumbling
	}
	mapping := awslambda.NewCfnEventSourceMapping(f.Function, jsii.String("Changes"), &awslambda.CfnEventSourceMappingProps{
		FunctionName: f.FunctionName(), EventSourceArn: d.Main.TableStreamArn(), StartingPosition: jsii.String("TRIM_HORIZON"),
		BatchSize: &how.batch, ParallelizationFactor: &how.parallel, MaximumBatchingWindowInSeconds: &how.window, TumblingWindowInSeconds: tumbling,
		MaximumRetryAttempts: jsii.Number(unlimited), MaximumRecordAgeInSeconds: jsii.Number(streamAge),
		FunctionResponseTypes: jsii.Strings("ReportBatchItemFailures"),
		FilterCriteria:        &awslambda.CfnEventSourceMapping_FilterCriteriaProperty{Filters: filters(entities)},
		DestinationConfig: &awslambda.CfnEventSourceMapping_DestinationConfigProperty{
			OnFailure: &awslambda.CfnEventSourceMapping_OnFailureProperty{Destination: e.Failed.QueueArn()},
		},
	})
	mapping.Node().AddDependency(f.Role())
}

// filters returns filters that pass committed changes of companies' items of these entities: the new image, or the old image
// of a removed item. The filters drop quiet writes and the removal of tombstones. But they pass a quiet write over an
// expired item that was not quiet, because the write removes that item. The removal of what only expires they drop too. A filter is
// free; an invocation without work is not.
func filters(entities []string) []any {
	type fields = map[string]any
	absent := fields{"BOOL": []any{fields{"exists": false}}}
	filter := func(image fields, events ...string) any {
		image["Keys"] = fields{"pk": fields{"S": []any{fields{"prefix": "C#"}}}}
		pattern, err := json.Marshal(fields{"eventName": events, "dynamodb": image})
		if err != nil { // cannot happen: strings in maps
			panic(err)
		}
		return &awslambda.CfnEventSourceMapping_FilterProperty{Pattern: jsii.String(string(pattern))}
	}
	entity := fields{"S": entities}
	removed := fields{"S": slices.DeleteFunc(slices.Clone(entities), projection.Expires)}
	return []any{
		filter(fields{"NewImage": fields{"entity": entity, "quiet": absent}}, "INSERT", "MODIFY"),
		filter(fields{"OldImage": fields{"entity": removed, "quiet": absent, "gone": absent}}, "REMOVE"),
		filter(fields{
			"OldImage": fields{"entity": removed, "quiet": absent, "gone": absent, "expires": fields{"N": []any{fields{"exists": true}}}},
			"NewImage": fields{"quiet": fields{"BOOL": []bool{true}}},
		}, "MODIFY"),
	}
}
