package api

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awswafv2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// perAddress limits the requests of one address in five minutes.
const perAddress = 10_000

// protect adds a web ACL: AWS's rules against known bad input and addresses with a bad reputation, and a rate limit per
// address. It omits AWS's common rules, which refuse bodies above 8 kB and JSON that quotes HTML.
func protect(scope constructs.Construct, rest awsapigateway.SpecRestApi) {
	visible := func(name string) *awswafv2.CfnWebACL_VisibilityConfigProperty {
		return &awswafv2.CfnWebACL_VisibilityConfigProperty{
			CloudWatchMetricsEnabled: jsii.Bool(true), MetricName: &name, SampledRequestsEnabled: jsii.Bool(false), // samples hold tokens
		}
	}
	managed := func(priority float64, name string) any {
		return &awswafv2.CfnWebACL_RuleProperty{
			Name: &name, Priority: &priority, VisibilityConfig: visible(name),
			OverrideAction: &awswafv2.CfnWebACL_OverrideActionProperty{None: map[string]any{}},
			Statement: &awswafv2.CfnWebACL_StatementProperty{
				ManagedRuleGroupStatement: &awswafv2.CfnWebACL_ManagedRuleGroupStatementProperty{VendorName: jsii.String("AWS"), Name: &name},
			},
		}
	}
	acl := awswafv2.NewCfnWebACL(scope, jsii.String("Firewall"), &awswafv2.CfnWebACLProps{
		Scope: jsii.String("REGIONAL"), VisibilityConfig: visible("Firewall"),
		DefaultAction: &awswafv2.CfnWebACL_DefaultActionProperty{Allow: map[string]any{}},
		Rules: []any{
			&awswafv2.CfnWebACL_RuleProperty{
				Name: jsii.String("PerAddress"), Priority: jsii.Number(0), VisibilityConfig: visible("PerAddress"),
				Action: &awswafv2.CfnWebACL_RuleActionProperty{Block: map[string]any{}},
				Statement: &awswafv2.CfnWebACL_StatementProperty{
					RateBasedStatement: &awswafv2.CfnWebACL_RateBasedStatementProperty{
						AggregateKeyType: jsii.String("IP"), Limit: jsii.Number(perAddress),
					},
				},
			},
			managed(1, "AWSManagedRulesKnownBadInputsRuleSet"),
			managed(2, "AWSManagedRulesAmazonIpReputationList"),
		},
	})
	awswafv2.NewCfnWebACLAssociation(scope, jsii.String("Protected"), &awswafv2.CfnWebACLAssociationProps{
		ResourceArn: rest.DeploymentStage().StageArn(), WebAclArn: acl.AttrArn(),
	})
}
