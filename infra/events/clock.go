package events

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/function"
)

// every calls a function on a schedule. Each call processes everything since the last success, so neither the rule nor Lambda
// repeats one, and there is no dead-letter queue. A call that has waited for longer than a minute is left out: the next one is due.
func (e *Events) every(scope constructs.Construct, schedule string, f *function.Function) {
	rule := awsevents.NewCfnRule(scope, jsii.String("Clock"), &awsevents.CfnRuleProps{
		Description: jsii.String("Calls " + f.Name), ScheduleExpression: &schedule, State: jsii.String("ENABLED"),
		Targets: []any{&awsevents.CfnRule_TargetProperty{
			Id: &f.Name, Arn: f.FunctionArn(),
			RetryPolicy: &awsevents.CfnRule_RetryPolicyProperty{
				MaximumRetryAttempts: jsii.Number(0), MaximumEventAgeInSeconds: jsii.Number(60),
			},
		}},
	})
	f.ConfigureAsyncInvoke(&awslambda.EventInvokeConfigOptions{
		RetryAttempts: jsii.Number(0), MaxEventAge: awscdk.Duration_Seconds(jsii.Number(60)),
	})
	f.AddPermission(jsii.String("Clock"), &awslambda.Permission{
		Principal: awsiam.NewServicePrincipal(jsii.String("events.amazonaws.com"), nil), SourceArn: rule.AttrArn(),
	})
}

// helped lets a function call itself. The policy lies outside of the role, on which the function depends.
func helped(scope constructs.Construct, f *function.Function) {
	awsiam.NewPolicy(scope, jsii.String("Helpers"), &awsiam.PolicyProps{
		Roles: &[]awsiam.IRole{f.Role()},
		Statements: &[]awsiam.PolicyStatement{awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Actions: jsii.Strings("lambda:InvokeFunction"), Resources: jsii.Strings(*f.FunctionArn()),
		})},
	})
}
