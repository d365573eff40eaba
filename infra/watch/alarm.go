package watch

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"
)

// reading is a statistic of a metric.
type reading struct {
	namespace, name string
	dimensions      map[string]string
	statistic       string
}

func (r reading) metric(label string, period float64) awscloudwatch.Metric {
	dimensions := map[string]*string{}
	for name, value := range r.dimensions {
		dimensions[name] = &value
	}
	props := &awscloudwatch.MetricProps{
		Namespace: &r.namespace, MetricName: &r.name, DimensionsMap: &dimensions, Statistic: &r.statistic,
		Period: awscdk.Duration_Minutes(&period),
	}
	if label != "" {
		props.Label = &label
	}
	return awscloudwatch.NewMetric(props)
}

// limit is what is too much: above, in periods of the last so many minutes.
type limit struct {
	above       float64
	periods, of float64
	missing     awscloudwatch.TreatMissingData
}

// missingIsFine: most of these metrics say nothing while nothing happens.
const missingIsFine = awscloudwatch.TreatMissingData_NOT_BREACHING

func (w watch) alarm(id, about string, r reading, l limit) {
	alarm := awscloudwatch.NewAlarm(w.scope, &id, &awscloudwatch.AlarmProps{
		AlarmDescription: &about, Metric: r.metric("", 1), Threshold: &l.above,
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_THRESHOLD,
		DatapointsToAlarm:  &l.periods, EvaluationPeriods: &l.of, TreatMissingData: l.missing,
	})
	if w.Topic != "" {
		resource := alarm.Node().DefaultChild().(awscloudwatch.CfnAlarm)
		resource.SetAlarmActions(jsii.Strings(w.Topic))
		resource.SetOkActions(jsii.Strings(w.Topic))
	}
}
