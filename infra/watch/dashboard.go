package watch

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/function"
)

// dashboard reads from top to bottom as a request and its consequences go: answers, functions, stream, queues, table.
func (w watch) dashboard() {
	gateway := map[string]string{"ApiName": *w.API.REST.RestApiName(), "Stage": *w.API.REST.DeploymentStage().StageName()}
	answer := func(name, statistic string) awscloudwatch.IMetric {
		return reading{"AWS/ApiGateway", name, gateway, statistic}.metric(name+" "+statistic, 5)
	}
	events := w.Events
	board := awscloudwatch.NewDashboard(w.scope, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{
		DefaultInterval: awscdk.Duration_Hours(jsii.Number(12)),
	})
	board.AddWidgets(
		graph("Answers", answer("Count", "Sum"), answer("4XXError", "Sum"), answer("5XXError", "Sum")),
		graph("Latency, ms", answer("Latency", "p50"), answer("Latency", "p90"), answer("Latency", "p99")),
	)
	board.AddWidgets(
		graph("Duration p99, ms", each(w.all(), "Duration", "p99")...),
		graph("Errors and throttles", append(each(w.all(), "Errors", "Sum"), each(w.all(), "Throttles", "Sum")...)...),
	)
	board.AddWidgets(
		graph("Stream: how late it is read, ms", each(w.followers(), "IteratorAge", "Maximum")...),
		graph("Queues: oldest message, s",
			reading{"AWS/SQS", "ApproximateAgeOfOldestMessage", queue(events.Retries.Queue), "Maximum"}.metric("retries", 5),
			reading{"AWS/SQS", "ApproximateAgeOfOldestMessage", queue(events.Syncs.Queue), "Maximum"}.metric("syncs", 5)),
	)
	letters := "ApproximateNumberOfMessagesVisible"
	board.AddWidgets(
		graph("Dead letters",
			reading{"AWS/SQS", letters, queue(events.Retries.Dead), "Maximum"}.metric("retries", 5),
			reading{"AWS/SQS", letters, queue(events.Syncs.Dead), "Maximum"}.metric("syncs", 5),
			reading{"AWS/SQS", letters, queue(events.Failed), "Maximum"}.metric("changes given up", 5)),
		graph("Table: units a period",
			reading{"AWS/DynamoDB", "ConsumedReadCapacityUnits", table(w.Data.Main), "Sum"}.metric("read", 5),
			reading{"AWS/DynamoDB", "ConsumedWriteCapacityUnits", table(w.Data.Main), "Sum"}.metric("written", 5)),
	)
}

// each is one metric of several functions, under their names.
func each(functions []*function.Function, name, statistic string) []awscloudwatch.IMetric {
	metrics := make([]awscloudwatch.IMetric, len(functions))
	for i, f := range functions {
		metrics[i] = reading{"AWS/Lambda", name, of(f), statistic}.metric(f.Name+" "+name, 5)
	}
	return metrics
}

func graph(title string, metrics ...awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
		Title: &title, Left: &metrics, Width: jsii.Number(12), LiveData: jsii.Bool(true),
	})
}
