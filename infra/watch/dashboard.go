package watch

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"orgops/shared/base/metric"
)

// dashboard creates the dashboard. From top to bottom it shows the alarms, then follows a request and its consequences:
// answers, functions, stream, deliveries, queues, syncs, table.
func (w *watch) dashboard() (name string) {
	board := awscloudwatch.NewDashboard(w.scope, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{
		DefaultInterval: awscdk.Duration_Hours(jsii.Number(12)),
	})
	alarms := w.alarms
	board.AddWidgets(awscloudwatch.NewAlarmStatusWidget(&awscloudwatch.AlarmStatusWidgetProps{
		Title: jsii.String("Alarms"), Alarms: &alarms, Width: jsii.Number(24), Height: jsii.Number(6),
		SortBy: awscloudwatch.AlarmStatusWidgetSortBy_STATE_UPDATED_TIMESTAMP,
	}))
	gateway, table := w.gateway(), w.table()
	board.AddWidgets(
		graph("Answers", gateway.shown("Count", "Sum"), gateway.shown("4XXError", "Sum"), gateway.shown("5XXError", "Sum")),
		graph("Latency, ms", gateway.shown("Latency", "p50"), gateway.shown("Latency", "p90"), gateway.shown("Latency", "p99")),
	)
	board.AddWidgets(
		graph("Functions: duration p99, ms", each(w.all(), "Duration", "p99")...),
		graph("Functions: errors and throttles", append(each(w.all(), "Errors", "Sum"), each(w.all(), "Throttles", "Sum")...)...),
	)
	board.AddWidgets(
		graph("Providers' webhooks, logins and tokens", w.counted(metric.InboundAccepted, metric.InboundRepeated, metric.InboundRefused,
			metric.InboundLimited, metric.LoginsLimited, metric.AuthorizerFailures)...),
		graph("Stream: lag, ms", slices.Concat(each(w.followers(), "IteratorAge", "Maximum"), w.timed(metric.ProjectionDelay, "p50", "p99"))...),
	)
	board.AddWidgets(
		graph("Deliveries: outcomes", w.counted(metric.DeliveriesSucceeded, metric.DeliveriesScheduled, metric.DeliveriesHeld,
			metric.DeliveriesFailed, metric.DeliveriesDead)...),
		graph("Deliveries: delay and answers, ms", slices.Concat(w.timed(metric.DeliveryDelay, "p50", "p90"), w.timed(metric.AttemptLatency, "p50", "p99"))...),
	)
	retries, syncs, notices := queue(w.Events.Retries.Queue), queue(w.Events.Syncs.Queue), queue(w.Events.Notices.Queue)
	board.AddWidgets(
		graph("Attempts: failures and opened breakers", append(w.counted(metric.BreakersOpened), w.failing(5))...),
		graph("Queues: oldest message, s", retries.read("ApproximateAgeOfOldestMessage", "Maximum", 5, "retries"),
			syncs.read("ApproximateAgeOfOldestMessage", "Maximum", 5, "syncs"), notices.read("ApproximateAgeOfOldestMessage", "Maximum", 5, "notices")),
	)
	board.AddWidgets(
		graph("Syncs", w.counted(metric.SyncsSucceeded, metric.SyncsFailed, metric.SyncItems)...),
		graph("For the operator: dead letters, parked changes, failed timers", append(w.counted(metric.ChangesParked, metric.CanaryLate, metric.TimersFailed),
			queue(w.Events.Retries.Dead).read(lettersIn, "Maximum", 5, "retries"),
			queue(w.Events.Syncs.Dead).read(lettersIn, "Maximum", 5, "syncs"),
			queue(w.Events.Notices.Dead).read(lettersIn, "Maximum", 5, "notices"),
			queue(w.Events.Failed).read(lettersIn, "Maximum", 5, "discarded changes"))...),
	)
	board.AddWidgets(
		graph("Table: units per period", table.shown("ConsumedReadCapacityUnits", "Sum"), table.shown("ConsumedWriteCapacityUnits", "Sum")),
		graph("Table: throttles, conflicts and errors", table.shown("ReadThrottleEvents", "Sum"), table.shown("WriteThrottleEvents", "Sum"),
			table.shown("ConditionalCheckFailedRequests", "Sum"), table.shown("TransactionConflict", "Sum"), w.tableErrors(5)),
	)
	return *board.DashboardName()
}

func graph(title string, metrics ...awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
		Title: &title, Left: &metrics, Width: jsii.Number(12), LiveData: jsii.Bool(true),
	})
}
