// Package metric counts what whoever runs the service wants to know and no platform tells, and writes it in CloudWatch's
// embedded metric format (EMF): a JSON line of the log from which CloudWatch takes the metrics.
//
// There are few metrics, and one dimension, the deployment: each combination of a metric and its dimensions' values is paid
// for by the month. Which companies a line is about stands beside them, where a search of the log finds it.
package metric

// Namespace holds all metrics.
const Namespace = "Orgops"

// Dimension is the name of the one dimension: whose metrics they are.
const Dimension = "Stack"

// Metric is one thing that is measured.
type Metric uint8

// The metrics. Those of time are in milliseconds; the others are counts.
const (
	DeliveriesSucceeded Metric = iota // on record as delivered
	DeliveriesScheduled               // on record as due later: what failed, and what found its endpoint busy or broken
	DeliveriesHeld                    // on record as kept for an endpoint that is sandboxed, disabled or deleted
	DeliveriesFailed                  // refused for good (410)
	DeliveriesDead                    // given up after the last attempt of the schedule
	DeliveryDelay                     // from the commit to the endpoint's answer, of each that was delivered
	AttemptLatency                    // of each attempt; their number is how many attempts there were
	AttemptsFailed                    // attempts that an endpoint did not take
	BreakersOpened                    // endpoints that are left alone for a while because they keep failing
	SyncsSucceeded                    // sync runs that have ended well
	SyncsFailed                       // and those that were given up
	SyncItems                         // items that syncs fetched
	InboundAccepted                   // providers' webhooks that were taken
	InboundRepeated                   // that had been taken before
	InboundRefused                    // that were not signed, not understood or not wanted
	LoginsLimited                     // logins refused because of too many tries for an e-mail address
	AuthorizerFailures                // tokens that could not be checked; a token that is not good is no failure
	ProjectionDelay                   // from a commit to its place in the company's context
	ChangesSkipped                    // committed changes that nobody could make sense of: somebody misses something
	TimersFailed                      // timers that could not be fired and are tried again
	metrics                           // how many there are
)

// Units are CloudWatch's.
const (
	Count        = "Count"
	Milliseconds = "Milliseconds"
)

//nolint:gochecknoglobals // a constant, if arrays could be
var names = [metrics]string{
	"DeliveriesSucceeded", "DeliveriesScheduled", "DeliveriesHeld", "DeliveriesFailed", "DeliveriesDead", "DeliveryDelay",
	"AttemptLatency", "AttemptsFailed", "BreakersOpened", "SyncsSucceeded", "SyncsFailed", "SyncItems", "InboundAccepted",
	"InboundRepeated", "InboundRefused", "LoginsLimited", "AuthorizerFailures", "ProjectionDelay", "ChangesSkipped", "TimersFailed",
}

// String is the metric's name in CloudWatch.
func (m Metric) String() string { return names[m] }

// Unit is Count or Milliseconds.
func (m Metric) Unit() string {
	switch m {
	case DeliveryDelay, AttemptLatency, ProjectionDelay:
		return Milliseconds
	}
	return Count
}

// All lists the metrics.
func All() []Metric {
	all := make([]Metric, metrics)
	for i := range all {
		all[i] = Metric(i)
	}
	return all
}
