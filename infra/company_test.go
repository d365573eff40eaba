package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/customresources"
	"github.com/aws/jsii-runtime-go"
)

// company creates a company as a custom resource of another stack, as the README shows.
func company(stack awscdk.Stack, provisionerName string) awscdk.CustomResource {
	provisioner := awslambda.Function_FromFunctionName(stack, jsii.String("Provisioner"), &provisionerName)
	companies := customresources.NewProvider(stack, jsii.String("Companies"), &customresources.ProviderProps{OnEventHandler: provisioner})
	return awscdk.NewCustomResource(stack, jsii.String("Acme"), &awscdk.CustomResourceProps{
		ServiceToken: companies.ServiceToken(), ResourceType: jsii.String("Custom::Company"),
		Properties: &map[string]any{"Name": "Acme", "Email": "ada@example.com", "Plan": "pro"},
	})
}

// TestCompany talks to the CDK's process, so it does not run in parallel.
func TestCompany(t *testing.T) {
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false), Outdir: jsii.String(t.TempDir())})
	stack := awscdk.NewStack(app, jsii.String("Customers"), nil)
	awscdk.NewCfnOutput(stack, jsii.String("Company"), &awscdk.CfnOutputProps{
		Value: company(stack, "Orgops-EventsprovisionerFunction-1").GetAttString(jsii.String("companyId")),
	})
	template, err := json.Marshal(app.Synth(nil).GetStackByName(stack.StackName()).Template())
	if err != nil {
		t.Fatal(err)
	}
	var s synthesized
	if err := json.Unmarshal(template, &s); err != nil {
		t.Fatal(err)
	}
	ids := s.of("Custom::Company")
	if len(ids) != 1 {
		t.Fatalf("companies %q, want one", ids)
	}
	r := s.Resources[ids[0]]
	if r.DeletionPolicy != "Delete" {
		t.Errorf("deletion policy %q, want Delete", r.DeletionPolicy)
	}
	has(t, "company", r.Properties, map[string]any{"Name": "Acme", "Email": "ada@example.com", "Plan": "pro"})
	token := text(dig(r.Properties, "ServiceToken", "Fn::GetAtt", 0))
	if got := s.Resources[token].Type; got != "AWS::Lambda::Function" {
		t.Errorf("the service token is that of a %q, want a function's", got)
	}
	calls := 0
	for _, id := range s.of("AWS::IAM::Policy") {
		policy, _ := json.Marshal(s.Resources[id].Properties)
		if strings.Contains(string(policy), "lambda:InvokeFunction") && strings.Contains(string(policy), ":function:Orgops-EventsprovisionerFunction-1") {
			calls++
		}
	}
	if calls != 1 {
		t.Errorf("%d roles may call the provisioner, want 1", calls)
	}
}
