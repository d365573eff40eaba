package watch

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"

	"orgops/infra/function"
	"orgops/shared/base/metric"
)

// source identifies the resource whose metrics are read.
type source struct {
	namespace  string
	dimensions map[string]string
}

// of returns the source of a function's metrics.
func of(f *function.Function) source {
	return source{"AWS/Lambda", map[string]string{"FunctionName": *f.FunctionName()}}
}

func queue(q awssqs.Queue) source {
	return source{"AWS/SQS", map[string]string{"QueueName": *q.QueueName()}}
}

func (w *watch) gateway() source {
	return source{"AWS/ApiGateway", map[string]string{
		"ApiName": *w.API.REST.RestApiName(), "Stage": *w.API.REST.DeploymentStage().StageName(),
	}}
}

// table returns the source of the main table's metrics.
func (w *watch) table() source { return tableOf(w.Data.Main) }

func tableOf(t awsdynamodb.ITable) source {
	return source{"AWS/DynamoDB", map[string]string{"TableName": *t.TableName()}}
}

// code returns the source of the metrics that the functions write.
func (w *watch) code() source {
	return source{metric.Namespace, map[string]string{metric.Dimension: *awscdk.Stack_Of(w.scope).StackName()}}
}

// read returns a statistic of a metric over periods of so many minutes.
func (s source) read(name, statistic string, minutes float64, label string) awscloudwatch.IMetric {
	dimensions := map[string]*string{}
	for name, value := range s.dimensions {
		dimensions[name] = &value
	}
	props := &awscloudwatch.MetricProps{
		Namespace: &s.namespace, MetricName: &name, DimensionsMap: &dimensions, Statistic: &statistic, Period: awscdk.Duration_Minutes(&minutes),
	}
	if label != "" {
		props.Label = &label
	}
	return awscloudwatch.NewMetric(props)
}

// shown returns a metric for the dashboard, labelled with its name.
func (s source) shown(name, statistic string) awscloudwatch.IMetric {
	label := name
	if statistic != "Sum" {
		label += " " + statistic
	}
	return s.read(name, statistic, 5, label)
}

// counted returns the sums of the code's metrics for the dashboard.
func (w *watch) counted(metrics ...metric.Metric) []awscloudwatch.IMetric {
	all := make([]awscloudwatch.IMetric, len(metrics))
	for i, m := range metrics {
		all[i] = w.code().shown(m.String(), "Sum")
	}
	return all
}

// timed returns percentiles of a metric of the code.
func (w *watch) timed(m metric.Metric, percentiles ...string) []awscloudwatch.IMetric {
	all := make([]awscloudwatch.IMetric, len(percentiles))
	for i, p := range percentiles {
		all[i] = w.code().shown(m.String(), p)
	}
	return all
}

// each returns one metric of several functions, labelled with their names.
func each(functions []*function.Function, name, statistic string) []awscloudwatch.IMetric {
	metrics := make([]awscloudwatch.IMetric, len(functions))
	for i, f := range functions {
		metrics[i] = of(f).read(name, statistic, 5, f.Name+" "+name)
	}
	return metrics
}

// math returns an expression over metrics, for each period of so many minutes.
func math(expression string, minutes float64, label string, metrics map[string]awscloudwatch.IMetric) awscloudwatch.IMetric {
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: &expression, UsingMetrics: &metrics, Period: awscdk.Duration_Minutes(&minutes), Label: &label,
	})
}

// failing returns the percentage of delivery attempts that failed, or 0 for fewer than 20 attempts.
func (w *watch) failing(minutes float64) awscloudwatch.IMetric {
	return math("IF(attempts >= 20, 100 * FILL(failed, 0) / attempts, 0)", minutes, "attempts failed, %", map[string]awscloudwatch.IMetric{
		"attempts": w.code().read(metric.AttemptLatency.String(), "SampleCount", minutes, ""),
		"failed":   w.code().read(metric.AttemptsFailed.String(), "Sum", minutes, ""),
	})
}
