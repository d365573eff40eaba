// Package nag states where the infrastructure departs from a rule of cdk-nag, and why. The reason ends up in the
// template, beside the resource that it is about.
package nag

import (
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

// Excuse excepts a construct and what is under it from a rule, such as AwsSolutions-APIG4. For a rule that can find
// several things wrong with one resource, findings names those that are excused; without any, all are.
func Excuse(scope constructs.IConstruct, rule, reason string, findings ...string) {
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
