package api

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsxray"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// tracedShare is the share of requests that X-Ray records. Without a rule X-Ray also records the first request of each second,
// which costs 13 dollars a month. The functions behind the gateway follow its choice.
const tracedShare = 0.01

// trace sets which requests of the stage X-Ray records. An account has one list of rules, each with a unique name of at most 32
// characters, so the name contains the API's id.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-configuring-xray-sampling-rules.html
func trace(scope constructs.Construct, rest awsapigateway.SpecRestApi) {
	anything := jsii.String("*")
	awsxray.NewCfnSamplingRule(scope, jsii.String("Traces"), &awsxray.CfnSamplingRuleProps{
		SamplingRule: &awsxray.CfnSamplingRule_SamplingRuleProperty{
			RuleName: jsii.String("orgops-" + *rest.RestApiId()), Version: jsii.Number(1), Priority: jsii.Number(1000),
			FixedRate: jsii.Number(tracedShare), ReservoirSize: jsii.Number(0),
			ServiceType: jsii.String("AWS::ApiGateway::Stage"), ResourceArn: rest.DeploymentStage().StageArn(),
			ServiceName: anything, Host: anything, HttpMethod: anything, UrlPath: anything,
		},
	})
}
