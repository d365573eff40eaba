package watch

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscodedeploy"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/function"
	"orgops/infra/nag"
)

// deployer holds what the canaries of all functions share.
type deployer struct {
	application awscodedeploy.LambdaApplication
	role        awsiam.Role
}

// canary makes a deployment of a route group send a tenth of its requests to the new version for five minutes, and then all. The
// function's alarm ends it: then all requests go to the former version, and CloudFormation rolls the stack back. A function without
// an alias has no canary.
func (w *watch) canary(f *function.Function, alarm awscloudwatch.Alarm) {
	alias := w.API.Aliases[f.Name]
	if alias == nil {
		return
	}
	if w.deployer == nil {
		w.deployer = &deployer{awscodedeploy.NewLambdaApplication(w.scope, jsii.String("Releases"), nil), w.deploying()}
	}
	awscodedeploy.NewLambdaDeploymentGroup(w.scope, jsii.String("Canary-"+f.Name), &awscodedeploy.LambdaDeploymentGroupProps{
		Alias: alias, Application: w.deployer.application, Role: w.deployer.role,
		DeploymentConfig: awscodedeploy.LambdaDeploymentConfig_CANARY_10PERCENT_5MINUTES(),
		Alarms:           &[]interfacesawscloudwatch.IAlarmRef{alarm},
	})
}

// deploying creates the role in which CodeDeploy moves aliases.
func (w *watch) deploying() awsiam.Role {
	role := awsiam.NewRole(w.scope, jsii.String("CanaryRole"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("codedeploy.amazonaws.com"), nil), Description: jsii.String("Moves the route groups' aliases to a new version"),
	})
	nag.Suppress(role, "AwsSolutions-IAM4", "CodeDeploy moves aliases with the policy that AWS prescribes",
		"Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited")
	return role
}
