// Package metric records operational metrics that AWS does not publish, in CloudWatch's embedded metric format (EMF): JSON
// lines in the log from which CloudWatch extracts the metrics.
//
// The metrics are few and have one dimension, the deployment, because each combination of a metric and its dimension values
// costs a monthly fee. A line names the affected companies in a separate member, for searches of the log.
package metric

// Namespace groups all metrics in CloudWatch.
const Namespace = "Orgops"

// Dimension names the only dimension, whose value is the deployment.
const Dimension = "Stack"

// Metric identifies a measured quantity.
type Metric uint8

// Metrics of durations are in milliseconds; the others are counts.
const (
	DeliveriesSucceeded Metric = iota // recorded as delivered
	DeliveriesScheduled               // recorded as due later: failed, or the endpoint was busy or its breaker open
	DeliveriesHeld                    // recorded as held for an endpoint that is sandboxed, disabled or deleted
	DeliveriesFailed                  // refused permanently (410)
	DeliveriesDead                    // given up after the last attempt of the schedule
	DeliveryDelay                     // from the commit to the endpoint's response, of each successful delivery
	AttemptLatency                    // duration of each attempt; its sample count is the number of attempts
	AttemptsFailed                    // attempts that an endpoint did not accept
	BreakersOpened                    // endpoints paused because they keep failing
	SyncsSucceeded                    // sync runs that succeeded
	SyncsFailed                       // sync runs that were given up
	SyncItems                         // items fetched by syncs
	InboundAccepted                   // provider webhooks accepted
	InboundRepeated                   // provider webhooks accepted before
	InboundRefused                    // provider webhooks unsigned, not understood or not wanted
	InboundLimited                    // provider webhooks refused because their company received too many at once
	LoginsLimited                     // logins refused because of too many attempts for an e-mail address
	AuthorizerFailures                // tokens that could not be checked; invalid tokens do not count
	ProjectionDelay                   // from a commit to its place in the company's context
	ChangesParked                     // committed changes that a consumer could not understand and parked
	CanaryLate                        // readers of the feed that have not handled the canary's change in time
	TimersFailed                      // timers that could not be fired and will be retried
	metrics                           // number of metrics
)

// Units of CloudWatch.
const (
	Count        = "Count"
	Milliseconds = "Milliseconds"
)

//nolint:gochecknoglobals // Go has no constant arrays
var names = [metrics]string{
	"DeliveriesSucceeded", "DeliveriesScheduled", "DeliveriesHeld", "DeliveriesFailed", "DeliveriesDead", "DeliveryDelay",
	"AttemptLatency", "AttemptsFailed", "BreakersOpened", "SyncsSucceeded", "SyncsFailed", "SyncItems", "InboundAccepted",
	"InboundRepeated", "InboundRefused", "InboundLimited", "LoginsLimited", "AuthorizerFailures", "ProjectionDelay", "ChangesParked", "CanaryLate", "TimersFailed",
}

// String returns the metric's name in CloudWatch.
func (m Metric) String() string { return names[m] }

// Unit returns Count or Milliseconds.
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
