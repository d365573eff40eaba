// Package nag suppresses cdk-nag rules where the infrastructure departs from them. The template holds each reason, next to
// its resource.
package nag

import (
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

// Suppress exempts a construct and its children from a rule, such as AwsSolutions-APIG4. For a rule with several findings on
// one resource, findings names those to suppress; without any, all are suppressed.
func Suppress(scope constructs.IConstruct, rule, reason string, findings ...string) {
	suppression := &cdknag.NagPackSuppression{Id: &rule, Reason: &reason}
	if len(findings) > 0 {
		appliesTo := make([]any, len(findings))
		for i, finding := range findings {
			appliesTo[i] = finding
		}
		suppression.AppliesTo = &appliesTo
	}
	cdknag.NagSuppressions_AddResourceSuppressions(scope, &[]*cdknag.NagPackSuppression{suppression}, jsii.Bool(true))
}
