package watch

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"
)

// limit sets when an alarm fires: in at least `periods` of the last `of` periods, the metric is above or below the limit.
type limit struct {
	above       float64
	below       float64 // replaces above if it is more than 0
	periods, of float64
	silence     awscloudwatch.TreatMissingData // meaning of missing data; "": not breaching
}

// alarm creates an alarm on a metric. The text about appears in its message: what is wrong, and what to do.
func (w *watch) alarm(id, about string, metric awscloudwatch.IMetric, l limit) awscloudwatch.Alarm {
	props := &awscloudwatch.AlarmProps{
		AlarmDescription: &about, Metric: metric, Threshold: &l.above,
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_THRESHOLD,
		DatapointsToAlarm:  &l.periods, EvaluationPeriods: &l.of, TreatMissingData: awscloudwatch.TreatMissingData_NOT_BREACHING,
	}
	if l.below > 0 {
		props.Threshold, props.ComparisonOperator = &l.below, awscloudwatch.ComparisonOperator_LESS_THAN_THRESHOLD
	}
	if l.silence != "" {
		props.TreatMissingData = l.silence
	}
	alarm := awscloudwatch.NewAlarm(w.scope, &id, props)
	if w.Topic != "" {
		resource := alarm.Node().DefaultChild().(awscloudwatch.CfnAlarm)
		resource.SetAlarmActions(jsii.Strings(w.Topic))
		resource.SetOkActions(jsii.Strings(w.Topic))
	}
	w.alarms = append(w.alarms, alarm)
	return alarm
}
