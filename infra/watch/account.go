package watch

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsbudgets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"
)

// expiresSoon is how many days before its end a certificate that was not renewed raises the alarm. ACM renews 60 days before.
const expiresSoon = 30

// account alarms on what belongs to the account: its concurrent calls, the domain's certificate, and what it costs.
func (w *watch) account() {
	usage := source{"AWS/Usage", map[string]string{"Service": "Lambda", "Type": "Resource", "Resource": "ConcurrentExecutions", "Class": "None"}}
	used := math("100 * calls / SERVICE_QUOTA(calls)", 1, "the account's concurrent calls, %", map[string]awscloudwatch.IMetric{
		"calls": usage.read("ResourceCount", "Maximum", 1, ""),
	})
	w.alarm("Concurrency", "The account uses more than 80 % of its concurrent calls; above 100 % requests get 503: ask AWS for more (Lambda, concurrent "+
		"executions), or lower the reserved concurrency of what is not urgent", used, limit{above: 80, periods: 3, of: 5})
	if w.Certificate != "" {
		certificate := source{"AWS/CertificateManager", map[string]string{"CertificateArn": w.Certificate}}
		w.alarm("Certificate", "The domain's certificate expires within 30 days and was not renewed: check its validation records, then request its renewal in ACM",
			certificate.read("DaysToExpiry", "Minimum", 24*60, ""), limit{below: expiresSoon, periods: 1, of: 1})
	}
	if w.Budget > 0 {
		w.budget()
	}
}

// budget tells the topic when the account has used up its budget of a month, and when AWS expects that it will.
func (w *watch) budget() {
	told := func(kind string) any {
		return &awsbudgets.CfnBudget_NotificationWithSubscribersProperty{
			Notification: &awsbudgets.CfnBudget_NotificationProperty{
				ComparisonOperator: jsii.String("GREATER_THAN"), NotificationType: &kind, Threshold: jsii.Number(100), ThresholdType: jsii.String("PERCENTAGE"),
			},
			Subscribers: []any{&awsbudgets.CfnBudget_SubscriberProperty{Address: &w.Topic, SubscriptionType: jsii.String("SNS")}},
		}
	}
	awsbudgets.NewCfnBudget(w.scope, jsii.String("Budget"), &awsbudgets.CfnBudgetProps{
		Budget: &awsbudgets.CfnBudget_BudgetDataProperty{
			BudgetType: jsii.String("COST"), TimeUnit: jsii.String("MONTHLY"),
			BudgetLimit: &awsbudgets.CfnBudget_SpendProperty{Amount: &w.Budget, Unit: jsii.String("USD")},
		},
		NotificationsWithSubscribers: []any{told("ACTUAL"), told("FORECASTED")},
	})
}
