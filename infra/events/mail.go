package events

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsses"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/data"
)

// mails connects the notifier.
func (e *Events) mails(p Props) {
	p.Data.Read(e.Notifier, data.Companies, data.Logins)
	p.Data.Write(e.Notifier, data.Companies, data.Timers, data.Logins) // it makes the codes of resets
	p.Data.Seal(e.Notifier)
	e.Notices.WorkedBy(e.Notifier)
	p.API.Issue(e.Notifier)
	e.Notifier.Mails(p.Functions)
}

// returns lets SES tell EventBridge of mails that came back or were unwanted, and EventBridge the notifier's queue, which keeps it until it
// is noted. SES also keeps a list of such addresses for the account, and takes no mail to them.
func (e *Events) returns(scope constructs.Construct, name string) {
	set := awsses.NewCfnConfigurationSet(scope, jsii.String("Mails"), &awsses.CfnConfigurationSetProps{
		Name: &name, SuppressionOptions: &awsses.CfnConfigurationSet_SuppressionOptionsProperty{SuppressedReasons: jsii.Strings("BOUNCE", "COMPLAINT")},
	})
	bus := "arn:" + *set.Stack().Partition() + ":events:" + *set.Stack().Region() + ":" + *set.Stack().Account() + ":event-bus/default" // SES takes no other
	awsses.NewCfnConfigurationSetEventDestination(scope, jsii.String("MailsReturned"), &awsses.CfnConfigurationSetEventDestinationProps{
		ConfigurationSetName: set.Ref(),
		EventDestination: &awsses.CfnConfigurationSetEventDestination_EventDestinationProperty{
			Enabled: jsii.Bool(true), MatchingEventTypes: jsii.Strings("BOUNCE", "COMPLAINT"),
			EventBridgeDestination: &awsses.CfnConfigurationSetEventDestination_EventBridgeDestinationProperty{EventBusArn: &bus},
		},
	})
	rule := awsevents.NewCfnRule(scope, jsii.String("Returns"), &awsevents.CfnRuleProps{
		Description: jsii.String("Tells the notifier of mails that came back or were unwanted"), State: jsii.String("ENABLED"),
		EventPattern: map[string]any{
			"source": []string{"aws.ses"}, "detail-type": []string{"Email Bounced", "Email Complaint Received"},
			"detail": map[string]any{"mail": map[string]any{"tags": map[string]any{"ses:configuration-set": []string{name}}}},
		},
		Targets: []any{&awsevents.CfnRule_TargetProperty{Id: &e.Notifier.Name, Arn: e.Notices.QueueArn()}},
	})
	e.Notices.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("events.amazonaws.com"), nil)},
		Actions:    jsii.Strings("sqs:SendMessage"), Resources: &[]*string{e.Notices.QueueArn()},
		Conditions: &map[string]any{"ArnEquals": map[string]any{"aws:SourceArn": rule.AttrArn()}},
	}))
}
