// Package watch is what a person must know: alarms on what hurts a company or soon will, and one dashboard to see why.
package watch

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/api"
	"orgops/infra/data"
	"orgops/infra/events"
	"orgops/infra/function"
)

// Props is what is watched.
type Props struct {
	API    *api.API
	Data   *data.Data
	Events *events.Events
	Topic  string // ARN of the SNS topic that alarms go to; "": alarms show in the console only
}

type watch struct {
	Props
	scope constructs.Construct
}

// New watches.
func New(scope constructs.Construct, p Props) {
	w := watch{Props: p, scope: constructs.NewConstruct(scope, jsii.String("Watch"))}
	w.answers()
	w.changes()
	w.queues()
	w.functions()
	w.table()
	w.dashboard()
}

func (w watch) all() []*function.Function {
	return slices.Concat(w.API.Functions(), w.Events.Functions())
}

func (w watch) followers() []*function.Function {
	return []*function.Function{w.Events.Projector, w.Events.Dispatcher}
}

func (w watch) answers() {
	gateway := map[string]string{"ApiName": *w.API.REST.RestApiName(), "Stage": *w.API.REST.DeploymentStage().StageName()}
	w.alarm("Answers5xx", "More than 1 % of answers are 5xx: read the function log of the request id",
		reading{"AWS/ApiGateway", "5XXError", gateway, "Average"}, limit{above: 0.01, periods: 3, of: 5, missing: missingIsFine})
	w.alarm("AnswersP99", "One answer in a hundred takes longer than 2 s: look at the functions' duration and at throttles",
		reading{"AWS/ApiGateway", "Latency", gateway, "p99"}, limit{above: 2000, periods: 3, of: 5, missing: missingIsFine})
	w.alarm("AuthorizerErrors", "The authorizer fails, so nobody gets in: read its log; the signing keys may be out of reach",
		reading{"AWS/Lambda", "Errors", of(w.API.Authorizer), "Sum"}, limit{above: 0, periods: 1, of: 1, missing: missingIsFine})
}

func (w watch) changes() {
	for _, f := range w.followers() {
		w.alarm("Behind-"+f.Name, "The stream is read more than a minute late: contexts or deliveries lag behind what is committed",
			reading{"AWS/Lambda", "IteratorAge", of(f), "Maximum"}, limit{above: 60_000, periods: 3, of: 5, missing: missingIsFine})
	}
}

func (w watch) queues() {
	w.oldest("Retries", w.Events.Retries.Queue, 30*60, "Deliveries wait half an hour longer than they should: the retrier is throttled or fails")
	w.oldest("Syncs", w.Events.Syncs.Queue, 15*60, "Syncs wait a quarter of an hour: the syncer is throttled or fails")
	w.letters("RetriesDead", w.Events.Retries.Dead, "Deliveries that no attempt could work on: read their messages, then redrive")
	w.letters("SyncsDead", w.Events.Syncs.Dead, "Syncs that could not be worked on: read their messages, then redrive")
	w.letters("ChangesFailed", w.Events.Failed, "Changes were given up: contexts or deliveries miss something; the message says which")
}

// oldest counts from when a message was last sent, and one that is not due is sent again every 15 minutes.
func (w watch) oldest(id string, q awssqs.Queue, seconds float64, about string) {
	w.alarm(id+"Oldest", about, reading{"AWS/SQS", "ApproximateAgeOfOldestMessage", queue(q), "Maximum"},
		limit{above: seconds, periods: 2, of: 2, missing: missingIsFine})
}

func (w watch) letters(id string, q awssqs.Queue, about string) {
	w.alarm(id, about, reading{"AWS/SQS", "ApproximateNumberOfMessagesVisible", queue(q), "Maximum"},
		limit{above: 0, periods: 1, of: 1, missing: missingIsFine})
}

func (w watch) functions() {
	for _, f := range w.all() {
		w.alarm("Throttled-"+f.Name, "Calls of the function are refused: raise its reserved concurrency, or the account's limit",
			reading{"AWS/Lambda", "Throttles", of(f), "Sum"}, limit{above: 0, periods: 3, of: 5, missing: missingIsFine})
	}
	for _, f := range []*function.Function{w.Events.Ticker, w.Events.Rotator} {
		w.alarm("Errors-"+f.Name, "The function fails again and again: read its log",
			reading{"AWS/Lambda", "Errors", of(f), "Sum"}, limit{above: 0, periods: 2, of: 5, missing: missingIsFine})
	}
}

func (w watch) table() {
	for _, metric := range []string{"ReadThrottleEvents", "WriteThrottleEvents"} {
		w.alarm(metric, "The table refuses requests: one partition is asked too much, or the load has doubled at once",
			reading{"AWS/DynamoDB", metric, table(w.Data.Main), "Sum"}, limit{above: 0, periods: 3, of: 5, missing: missingIsFine})
	}
}

func of(f *function.Function) map[string]string {
	return map[string]string{"FunctionName": *f.FunctionName()}
}

func queue(q awssqs.Queue) map[string]string { return map[string]string{"QueueName": *q.QueueName()} }

func table(t awsdynamodb.Table) map[string]string {
	return map[string]string{"TableName": *t.TableName()}
}
