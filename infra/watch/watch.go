// Package watch builds what the operator sees: alarms on faults that affect companies now or soon, and one dashboard to find
// the cause.
package watch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/api"
	"orgops/infra/data"
	"orgops/infra/events"
	"orgops/infra/function"
	"orgops/shared/base/metric"
)

// Props holds what is watched.
type Props struct {
	API    *api.API
	Data   *data.Data
	Events *events.Events
	Topic  string // ARN of the SNS topic for alarms; "": alarms show in the console only

	Certificate string  // ARN of the domain's certificate; "": the stack has no domain
	Budget      float64 // dollars a month of the account; 0: none. It needs a topic
}

type watch struct {
	Props
	scope    constructs.Construct
	alarms   []interfacesawscloudwatch.IAlarmRef
	deployer *deployer // of aliases; nil: not made yet
}

// New creates the alarms and the dashboard, and returns the dashboard's name.
func New(scope constructs.Construct, p Props) (dashboard string) {
	w := &watch{Props: p, scope: constructs.NewConstruct(scope, jsii.String("Watch"))}
	w.answers()
	w.changes()
	w.deliveries()
	w.queues()
	w.loops()
	w.clock()
	w.functions()
	w.storage()
	w.account()
	return w.dashboard()
}

func (w *watch) all() []*function.Function {
	return slices.Concat(w.API.Functions(), w.Events.Functions())
}

func (w *watch) followers() []*function.Function {
	return []*function.Function{w.Events.Projector, w.Events.Dispatcher}
}

func (w *watch) answers() {
	w.alarm("Answers5xx", "More than 1 % of answers are 5xx: find their request ids in the access log, and the cause under each id in the functions' logs",
		w.gateway().read("5XXError", "Average", 1, ""), limit{above: 0.01, periods: 3, of: 5})
	w.alarm("AnswersP99", "1 % of answers take longer than 2 s: check the functions' duration and throttles",
		w.gateway().read("Latency", "p99", 1, ""), limit{above: 2000, periods: 3, of: 5})
	w.alarm("InboundLimited", "A company receives more webhooks than its limit, and the rest is refused: search the log of inbound for InboundLimited, which "+
		"names the company. Its provider repeats itself, or the limit is too low", w.code().read(metric.InboundLimited.String(), "Sum", 1, ""), limit{above: 0, periods: 3, of: 5})
	w.alarm("AuthorizerFailures", "Tokens cannot be verified, so all requests are refused: read the authorizer's log; the token keys may be unreachable",
		w.code().read(metric.AuthorizerFailures.String(), "Sum", 1, ""), limit{above: 0, periods: 1, of: 1})
}

func (w *watch) changes() {
	for _, f := range w.followers() {
		w.alarm("Behind-"+f.Name, "The stream's reader lags by more than five minutes, so contexts or deliveries are late. A failed batch is retried "+
			"for 12 hours, then its records are discarded: read the function's log for the cause, which is a store, a setting or a permission; "+
			"check its throttles and duration", of(f).read("IteratorAge", "Maximum", 1, ""), limit{above: 300_000, periods: 1, of: 1})
	}
	w.alarm("CanaryLate", "A reader of the stream has not handled the canary's change of each minute, or a delivery to the service's own inbound address has not "+
		"come back: the ticker's log names it. A reader's event source mapping may be disabled, or it is behind", w.code().read(metric.CanaryLate.String(), "Sum", 1, ""), limit{above: 0, periods: 3, of: 5})
	w.alarm("ChangesParked", "The dispatcher or the projector parked a committed change that it did not understand, or the ticker a timer: list it with orgops admin parked list, "+
		"repair the cause, then orgops admin parked retry", w.code().read(metric.ChangesParked.String(), "Sum", 5, ""),
		limit{above: 0, periods: 1, of: 1})
}

// deliveries alarms when most attempts fail. A single company's failing endpoint is that company's concern.
func (w *watch) deliveries() {
	w.alarm("DeliveriesFailing", "More than half of the delivery attempts have failed for 15 minutes: search the dispatcher's and the "+
		"retrier's logs for AttemptsFailed. If one company fails, its endpoint is at fault; if many fail, check the egress",
		w.failing(5), limit{above: 50, periods: 3, of: 3})
}

func (w *watch) queues() {
	w.oldest("Retries", w.Events.Retries.Queue, 30*60, "Deliveries are half an hour late: the retrier is throttled or fails; check its errors and throttles")
	w.oldest("Syncs", w.Events.Syncs.Queue, 15*60, "Syncs have waited for 15 minutes: the syncer is throttled or fails; check its errors and throttles")
	w.letters("RetriesDead", w.Events.Retries.Dead, "Deliveries are in the dead-letter queue: list them with orgops admin queue dead-letters, fix the cause, then orgops admin queue redrive")
	w.letters("SyncsDead", w.Events.Syncs.Dead, "Syncs are in the dead-letter queue: list them with orgops admin queue dead-letters, fix the cause, then orgops admin queue redrive")
	w.letters("NoticesDead", w.Events.Notices.Dead, "Notices are in the dead-letter queue: list them with orgops admin queue dead-letters, fix the cause, then orgops admin queue redrive")
	w.letters("ChangesFailed", w.Events.Failed, "Lambda discarded changes of the stream, so contexts or deliveries are incomplete: the message names the records, "+
		"which the stream keeps for another 12 hours; orgops admin stream replay reads them again")
}

// loops alarms when Lambda drops an invocation because it is the 17th of its function in one chain. The workers of the queues send
// on to their own queues, and begin a new chain long before.
func (w *watch) loops() {
	metrics, terms := map[string]awscloudwatch.IMetric{}, []string{}
	for i, f := range []*function.Function{w.Events.Retrier, w.Events.Syncer, w.Events.Notifier} {
		id := fmt.Sprintf("m%d", i)
		metrics[id] = of(f).read("RecursiveInvocationsDropped", "Sum", 5, "")
		terms = append(terms, "FILL("+id+", 0)")
	}
	w.alarm("LoopsDropped", "Lambda took a worker of a queue for an endless loop and dropped its messages, which become dead letters after 100 tries: "+
		"the worker sends a message on without counting it; until that is repaired, aws lambda put-function-recursion-config --recursive-loop Allow lets it go on",
		math(strings.Join(terms, " + "), 5, "messages dropped as loops", metrics), limit{above: 0, periods: 1, of: 1})
}

// oldest alarms on the oldest message of a queue, whose age counts from the last send. No message waits longer than 15 minutes
// there.
func (w *watch) oldest(id string, q awssqs.Queue, seconds float64, about string) {
	w.alarm(id+"Oldest", about, queue(q).read("ApproximateAgeOfOldestMessage", "Maximum", 1, ""), limit{above: seconds, periods: 2, of: 2})
}

const lettersIn = "ApproximateNumberOfMessagesVisible"

func (w *watch) letters(id string, q awssqs.Queue, about string) {
	w.alarm(id, about, queue(q).read(lettersIn, "Maximum", 1, ""), limit{above: 0, periods: 1, of: 1})
}

// clock alarms when the ticker is silent, because a stopped clock gives no other sign.
func (w *watch) clock() {
	w.alarm("ClockStopped", "The ticker has not been called for ten minutes, so no timer fires: check the rule that calls it, and its throttles",
		of(w.Events.Ticker).read("Invocations", "Sum", 5, ""),
		limit{below: 1, periods: 2, of: 2, silence: awscloudwatch.TreatMissingData_BREACHING})
	w.alarm("TimersFailed", "Timers fail and are retried every minute: the ticker's log names them; after a day they are parked",
		w.code().read(metric.TimersFailed.String(), "Sum", 1, ""), limit{above: 0, periods: 3, of: 5})
}

// functions alarms on calls that fail as a whole. A message that a worker leaves for a retry is no error; the age of streams
// and queues shows it. Two functions have no alarm on errors: the authorizer, because Lambda counts its refusals as errors,
// and the provisioner, because its caller sees the error. A throttled route group has none of its own, because the gateway
// answers 503, which the alarm on answers counts. Nor has the notifier, whose queue calls it no more often than its limit.
func (w *watch) functions() {
	for _, f := range w.all() {
		if f == w.API.Authorizer || f != w.Events.Notifier && slices.Contains(w.Events.Functions(), f) {
			w.alarm("Throttled-"+f.Name, "Calls of the function are throttled: raise its reserved concurrency, or the account's limit",
				of(f).read("Throttles", "Sum", 1, ""), limit{above: 0, periods: 3, of: 5})
		}
		if f != w.API.Authorizer && f != w.Events.Provisioner {
			alarm := w.alarm("Errors-"+f.Name, "Calls of the function fail repeatedly, with an error, a timeout or too little memory: read its log",
				of(f).read("Errors", "Sum", 1, ""), limit{above: 0, periods: 2, of: 5})
			w.canary(f, alarm)
		}
	}
}

func (w *watch) storage() {
	for _, name := range []string{"ReadThrottleEvents", "WriteThrottleEvents"} {
		w.alarm(name, "A table throttles requests, which are retried: one partition is hot, or the load has doubled suddenly. The dashboard shows the main "+
			"table; the other is the keys table", w.throttled(name), limit{above: 0, periods: 3, of: 5})
	}
	w.alarm("TableErrors", "DynamoDB returns internal errors: check AWS's health dashboard; clients get 503, and no write is partial",
		w.tableErrors(1), limit{above: 0, periods: 3, of: 5})
}

// throttled returns the sum of a metric of both tables. They have one alarm together, because its metrics cost and its resource counts.
func (w *watch) throttled(name string) awscloudwatch.IMetric {
	return math("FILL(main, 0) + FILL(keys, 0)", 1, name+" of both tables", map[string]awscloudwatch.IMetric{
		"main": w.table().read(name, "Sum", 1, ""), "keys": tableOf(w.Data.Keys).read(name, "Sum", 1, ""),
	})
}

// tableErrors returns the number of DynamoDB's own errors. DynamoDB counts them by operation; these are the operations in
// use.
func (w *watch) tableErrors(minutes float64) awscloudwatch.IMetric {
	metrics, terms := map[string]awscloudwatch.IMetric{}, []string{}
	for i, operation := range []string{"GetItem", "BatchGetItem", "Query", "PutItem", "DeleteItem", "TransactWriteItems"} {
		one := w.table()
		one.dimensions["Operation"] = operation
		id := fmt.Sprintf("m%d", i)
		metrics[id] = one.read("SystemErrors", "Sum", minutes, "")
		terms = append(terms, "FILL("+id+", 0)")
	}
	return math(strings.Join(terms, " + "), minutes, "DynamoDB's own errors", metrics)
}
