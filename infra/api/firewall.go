package api

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awswafv2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Limits of the requests of one address in five minutes: of all requests except webhooks, because a provider sends those of all
// companies from few addresses, and of those that sign users in.
const (
	perAddress       = 10_000
	signInPerAddress = 500
)

// protect adds a web ACL: AWS's rules against known bad input and addresses with a bad reputation, and a rate limit per
// address. It omits AWS's common rules, which refuse bodies above 8 kB and JSON that quotes HTML. No rule looks at the bodies of
// webhooks: they quote what users have typed at the provider.
func protect(scope constructs.Construct, rest awsapigateway.SpecRestApi) {
	visible := func(name string) *awswafv2.CfnWebACL_VisibilityConfigProperty {
		return &awswafv2.CfnWebACL_VisibilityConfigProperty{
			CloudWatchMetricsEnabled: jsii.Bool(true), MetricName: &name, SampledRequestsEnabled: jsii.Bool(false), // samples hold tokens
		}
	}
	managed := func(priority float64, name string, scope *awswafv2.CfnWebACL_StatementProperty) any {
		return &awswafv2.CfnWebACL_RuleProperty{
			Name: &name, Priority: &priority, VisibilityConfig: visible(name),
			OverrideAction: &awswafv2.CfnWebACL_OverrideActionProperty{None: map[string]any{}},
			Statement: &awswafv2.CfnWebACL_StatementProperty{
				ManagedRuleGroupStatement: &awswafv2.CfnWebACL_ManagedRuleGroupStatementProperty{VendorName: jsii.String("AWS"), Name: &name, ScopeDownStatement: scope},
			},
		}
	}
	limited := func(priority float64, name string, most float64, scope *awswafv2.CfnWebACL_StatementProperty) any {
		return &awswafv2.CfnWebACL_RuleProperty{
			Name: &name, Priority: &priority, VisibilityConfig: visible(name),
			Action: &awswafv2.CfnWebACL_RuleActionProperty{Block: map[string]any{}},
			Statement: &awswafv2.CfnWebACL_StatementProperty{
				RateBasedStatement: &awswafv2.CfnWebACL_RateBasedStatementProperty{
					AggregateKeyType: jsii.String("IP"), Limit: &most, ScopeDownStatement: scope,
				},
			},
		}
	}
	others := &awswafv2.CfnWebACL_StatementProperty{NotStatement: &awswafv2.CfnWebACL_NotStatementProperty{Statement: below("/inbound/")}}
	acl := awswafv2.NewCfnWebACL(scope, jsii.String("Firewall"), &awswafv2.CfnWebACLProps{
		Scope: jsii.String("REGIONAL"), VisibilityConfig: visible("Firewall"),
		DefaultAction: &awswafv2.CfnWebACL_DefaultActionProperty{Allow: map[string]any{}},
		Rules: []any{
			limited(0, "PerAddress", perAddress, others),
			limited(1, "SignInPerAddress", signInPerAddress, below("/auth/")),
			managed(2, "AWSManagedRulesKnownBadInputsRuleSet", others),
			managed(3, "AWSManagedRulesAmazonIpReputationList", nil),
		},
	})
	awswafv2.NewCfnWebACLAssociation(scope, jsii.String("Protected"), &awswafv2.CfnWebACLAssociationProps{
		ResourceArn: rest.DeploymentStage().StageArn(), WebAclArn: acl.AttrArn(),
	})
}

// below matches the requests whose path has a part. The path begins with the stage, or not if the API has its own domain.
func below(part string) *awswafv2.CfnWebACL_StatementProperty {
	return &awswafv2.CfnWebACL_StatementProperty{ByteMatchStatement: &awswafv2.CfnWebACL_ByteMatchStatementProperty{
		FieldToMatch:         &awswafv2.CfnWebACL_FieldToMatchProperty{UriPath: map[string]any{}},
		PositionalConstraint: jsii.String("CONTAINS"), SearchString: &part,
		TextTransformations: []any{&awswafv2.CfnWebACL_TextTransformationProperty{Priority: jsii.Number(0), Type: jsii.String("NONE")}},
	}}
}
