package watch

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"
)

// limit is what is too much, or too little: in so many periods of the last so many.
type limit struct {
	above       float64
	below       float64 // in the place of above, when it is more than 0
	periods, of float64
	silence     awscloudwatch.TreatMissingData // what it means that nothing is told; "": that nothing happened, and so nothing wrong
}

// alarm watches a metric. What about says ends up in the message: what is wrong, and what to do.
func (w *watch) alarm(id, about string, metric awscloudwatch.IMetric, l limit) {
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
}
