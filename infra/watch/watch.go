// Package watch is what a person must know: alarms on what hurts a company or soon will, and one dashboard to see why.
package watch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/api"
	"orgops/infra/data"
	"orgops/infra/events"
	"orgops/infra/function"
	"orgops/shared/metric"
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
	scope  constructs.Construct
	alarms []awscloudwatch.IAlarm
}

// New watches. It returns the name of the dashboard.
func New(scope constructs.Construct, p Props) (dashboard string) {
	w := &watch{Props: p, scope: constructs.NewConstruct(scope, jsii.String("Watch"))}
	w.answers()
	w.changes()
	w.deliveries()
	w.queues()
	w.clock()
	w.functions()
	w.storage()
	return w.dashboard()
}

func (w *watch) all() []*function.Function {
	return slices.Concat(w.API.Functions(), w.Events.Functions())
}

func (w *watch) followers() []*function.Function {
	return []*function.Function{w.Events.Projector, w.Events.Dispatcher}
}

func (w *watch) answers() {
	w.alarm("Answers5xx", "More than 1 % of answers are 5xx: the access log has their request ids, and the functions' logs what happened under each",
		w.gateway().read("5XXError", "Average", 1, ""), limit{above: 0.01, periods: 3, of: 5})
	w.alarm("AnswersP99", "One answer in a hundred takes longer than 2 s: look at the functions' duration and at throttles",
		w.gateway().read("Latency", "p99", 1, ""), limit{above: 2000, periods: 3, of: 5})
	w.alarm("AuthorizerFailures", "Tokens cannot be checked, so nobody gets in: read the authorizer's log; the signing keys may be out of reach",
		w.code().read(metric.AuthorizerFailures.String(), "Sum", 1, ""), limit{above: 0, periods: 1, of: 1})
}

func (w *watch) changes() {
	for _, f := range w.followers() {
		w.alarm("Behind-"+f.Name, "The stream is read more than a minute late: contexts or deliveries lag behind what is committed. "+
			"Look at the function's errors, throttles and duration", of(f).read("IteratorAge", "Maximum", 1, ""), limit{above: 60_000, periods: 3, of: 5})
	}
	w.alarm("ChangesSkipped", "A committed change made no sense to the dispatcher or the projector, and was passed over: "+
		"their logs name it, as an error, with its company and key", w.code().read(metric.ChangesSkipped.String(), "Sum", 5, ""),
		limit{above: 0, periods: 1, of: 1})
}

// deliveries: that one company's endpoint fails is for that company to know; that most do is ours.
func (w *watch) deliveries() {
	w.alarm("DeliveriesFailing", "More than half of the attempts at deliveries have failed for a quarter of an hour: search the dispatcher's and the "+
		"retrier's logs for AttemptsFailed. One company among the companies is its own endpoint; many are the way out",
		w.failing(5), limit{above: 50, periods: 3, of: 3})
}

func (w *watch) queues() {
	w.oldest("Retries", w.Events.Retries.Queue, 30*60, "Deliveries wait half an hour longer than they should: the retrier is throttled or fails")
	w.oldest("Syncs", w.Events.Syncs.Queue, 15*60, "Syncs wait a quarter of an hour: the syncer is throttled or fails")
	w.letters("RetriesDead", w.Events.Retries.Dead, "Deliveries that no attempt could work on: read their messages, then redrive")
	w.letters("SyncsDead", w.Events.Syncs.Dead, "Syncs that could not be worked on: read their messages, then redrive")
	w.letters("ChangesFailed", w.Events.Failed, "Changes were given up: contexts or deliveries miss something; the message says which, "+
		"for the day that the stream keeps them")
}

// oldest counts from when a message was last sent, and one that is not due is sent again every 15 minutes.
func (w *watch) oldest(id string, q awssqs.Queue, seconds float64, about string) {
	w.alarm(id+"Oldest", about, queue(q).read("ApproximateAgeOfOldestMessage", "Maximum", 1, ""), limit{above: seconds, periods: 2, of: 2})
}

const lettersIn = "ApproximateNumberOfMessagesVisible"

func (w *watch) letters(id string, q awssqs.Queue, about string) {
	w.alarm(id, about, queue(q).read(lettersIn, "Maximum", 1, ""), limit{above: 0, periods: 1, of: 1})
}

// clock: of a clock that has stopped, silence is the only sign.
func (w *watch) clock() {
	w.alarm("ClockStopped", "The ticker has not been called for ten minutes, so nothing that is due happens: look at the rule that calls it, and its throttles",
		of(w.Events.Ticker).read("Invocations", "Sum", 5, ""),
		limit{below: 1, periods: 2, of: 2, silence: awscloudwatch.TreatMissingData_BREACHING})
	w.alarm("TimersFailed", "Timers cannot be fired and are tried every minute: the ticker's log names them; after a day they are given up",
		w.code().read(metric.TimersFailed.String(), "Sum", 1, ""), limit{above: 0, periods: 3, of: 5})
}

// functions: a call that fails as a whole. What a worker leaves to be done again is no error; the age of streams and queues
// tells of it. Left out are the authorizer, whose refusals Lambda counts as errors, and the provisioner, whose caller is told.
func (w *watch) functions() {
	for _, f := range w.all() {
		w.alarm("Throttled-"+f.Name, "Calls of the function are refused: raise its reserved concurrency, or the account's limit",
			of(f).read("Throttles", "Sum", 1, ""), limit{above: 0, periods: 3, of: 5})
		if f != w.API.Authorizer && f != w.Events.Provisioner {
			w.alarm("Errors-"+f.Name, "Calls of the function fail again and again, by an error, a timeout or a lack of memory: read its log",
				of(f).read("Errors", "Sum", 1, ""), limit{above: 0, periods: 2, of: 5})
		}
	}
}

func (w *watch) storage() {
	for _, name := range []string{"ReadThrottleEvents", "WriteThrottleEvents"} {
		w.alarm(name, "The table refuses requests: one partition is asked too much, or the load has doubled at once; what is refused is tried again",
			w.table().read(name, "Sum", 1, ""), limit{above: 0, periods: 3, of: 5})
	}
	w.alarm("TableErrors", "DynamoDB fails by its own fault: look at AWS's health dashboard; clients are told 503 and nothing is half written",
		w.tableErrors(1), limit{above: 0, periods: 3, of: 5})
}

// tableErrors is DynamoDB's own faults, which it counts for each operation: these are the ones that are used.
func (w *watch) tableErrors(minutes float64) awscloudwatch.IMetric {
	metrics, terms := map[string]awscloudwatch.IMetric{}, []string{}
	for i, operation := range []string{"GetItem", "Query", "PutItem", "DeleteItem", "TransactWriteItems"} {
		one := w.table()
		one.dimensions["Operation"] = operation
		id := fmt.Sprintf("m%d", i)
		metrics[id] = one.read("SystemErrors", "Sum", minutes, "")
		terms = append(terms, "FILL("+id+", 0)")
	}
	return math(strings.Join(terms, " + "), minutes, "DynamoDB's own errors", metrics)
}
