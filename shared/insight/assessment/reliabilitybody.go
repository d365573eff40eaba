package assessment

import (
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
)

// Reliability reports how a company's deliveries and syncs went, against the objective.
type Reliability struct {
	ContextVersion int64                 `json:"contextVersion" doc:"version of the company context behind the result" example:"1284"`
	AsOf           time.Time             `json:"asOf" doc:"the minute for which the result holds"`
	FormulaVersion string                `json:"formulaVersion" doc:"version of the rules, weights and thresholds" example:"1"`
	Objective      float64               `json:"objective" minimum:"0" maximum:"1" doc:"share of the delivery attempts that should be answered 2xx" example:"0.99"`
	Windows        []ReliabilityWindow   `json:"windows" nullable:"false" doc:"delivery attempts of the last 5 minutes, hour, 6 hours, 24 hours and 3 days"`
	Alerts         []BurnAlert           `json:"alerts" nullable:"false" doc:"the pairs of windows that tell an outage from single failures"`
	Backlog        Backlog               `json:"backlog" doc:"deliveries that are not delivered"`
	Endpoints      []EndpointReliability `json:"endpoints" nullable:"false" doc:"every webhook integration, and those deleted with deliveries, by provider"`
	Syncs          []SyncReliability     `json:"syncs" nullable:"false" doc:"every provider that was synced, by provider"`
}

// ReliabilityWindow counts the delivery attempts of a span of time that ends now.
type ReliabilityWindow struct {
	Seconds     int64    `json:"seconds" doc:"length of the window; it may begin up to one step of counting earlier" example:"3600"`
	Delivered   int64    `json:"delivered" doc:"attempts that were answered 2xx"`
	Failed      int64    `json:"failed" doc:"all other attempts"`
	SuccessRate *float64 `json:"successRate" nullable:"true" minimum:"0" maximum:"1" doc:"share of the attempts that succeeded; null: no attempts" example:"0.998"`
	BurnRate    *float64 `json:"burnRate" nullable:"true" doc:"failures as a multiple of those that the objective allows; null: fewer than 20 attempts" example:"0.2"`
}

// BurnAlert pairs a long and a short window. It fires when the burn rate of both reaches the threshold.
type BurnAlert struct {
	ShortSeconds int64    `json:"shortSeconds" doc:"length of the short window, which shows that attempts still fail" example:"300"`
	LongSeconds  int64    `json:"longSeconds" doc:"length of the long window, which shows that many attempts failed" example:"3600"`
	Threshold    float64  `json:"threshold" doc:"burn rate at which the alert fires" example:"14.4"`
	ShortRate    *float64 `json:"shortRate" nullable:"true" doc:"burn rate of the short window; null: no attempts"`
	LongRate     *float64 `json:"longRate" nullable:"true" doc:"burn rate of the long window; null: fewer than 20 attempts"`
	Status       Status   `json:"status" enum:"pass,warn,fail,unknown" doc:"warn or fail: it fires; unknown: the long window has fewer than 20 attempts"`
}

// Backlog counts the deliveries that are not delivered.
type Backlog struct {
	Waiting       int        `json:"waiting" doc:"deliveries that wait for an attempt" format:"int32"`
	OldestAt      *time.Time `json:"oldestAt" nullable:"true" doc:"time of the oldest event that waits, cut to the step of counting: 5 minutes for the last three hours, an hour for the last day, a day before; null: nothing waits"`
	OldestSeconds int64      `json:"oldestSeconds" doc:"how long the oldest event has been waiting, at least; 0: nothing waits" example:"0"`
	Held          int        `json:"held" doc:"deliveries held because their endpoint may not receive events" format:"int32"`
	Dead          int        `json:"dead" doc:"dead letters" format:"int32"`
	OldestDeadAt  *time.Time `json:"oldestDeadAt" nullable:"true" doc:"day of the oldest event among the dead letters; null: there are none"`
}

// EndpointReliability reports how deliveries to one endpoint went.
type EndpointReliability struct {
	Provider       string            `json:"provider" doc:"name of the integration" example:"webhook"`
	State          integration.State `json:"state,omitempty" enum:"sandbox,certified" doc:"whether it is certified; absent: it was deleted"`
	Enabled        bool              `json:"enabled" doc:"false: its deliveries are held"`
	Breaker        string            `json:"breaker" enum:"closed,open,half-open,unknown" doc:"open: no attempts until the breaker probes; half-open: one probe decides; unknown: the breakers of more failing endpoints than are read"`
	Paused         *delivery.Pause   `json:"paused,omitempty" doc:"why it gets no attempts now, and until when; absent: it gets them"`
	Delivered      int64             `json:"delivered" doc:"attempts of the last 24 hours that were answered 2xx"`
	Failed         int64             `json:"failed" doc:"all other attempts of the last 24 hours"`
	SuccessRate    *float64          `json:"successRate" nullable:"true" minimum:"0" maximum:"1" doc:"share of the attempts of the last 24 hours that succeeded; null: no attempts"`
	Waiting        int               `json:"waiting" doc:"deliveries that wait for an attempt" format:"int32"`
	Held           int               `json:"held" doc:"deliveries that a recovery sends once the endpoint may receive events" format:"int32"`
	Dead           int               `json:"dead" doc:"dead letters" format:"int32"`
	FailingSince   *time.Time        `json:"failingSince" nullable:"true" doc:"first failure since the last success; null: it is not failing"`
	DisabledReason string            `json:"disabledReason,omitempty" enum:"manual,gone,failing,imported" doc:"why it is disabled"`
}

// SyncReliability reports how the live syncs of one provider went.
type SyncReliability struct {
	Provider        string        `json:"provider" doc:"name of the integration" example:"feed"`
	State           syncrun.State `json:"state" enum:"requested,running,awaiting-confirmation,succeeded,failed,cancelled" doc:"state of the newest sync"`
	LastSucceededAt *time.Time    `json:"lastSucceededAt" nullable:"true" doc:"when the last successful live sync ended; null: none has succeeded"`
	FailuresInRow   int           `json:"failuresInRow" doc:"failed live syncs since the last successful one, at most 10" format:"int32"`
	FailingSince    *time.Time    `json:"failingSince" nullable:"true" doc:"end of the first of those; null: there are none"`
	Error           string        `json:"error,omitempty" doc:"why the last of those failed"`
}
