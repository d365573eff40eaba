// Command infra implements the CDK app: it reads the context, checks that the functions' programs exist, and composes the
// stack from its units.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"orgops/functions"
	"orgops/infra/api"
	"orgops/infra/data"
	"orgops/infra/egress"
	"orgops/infra/events"
	"orgops/infra/watch"
)

func main() {
	err := run()
	jsii.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\ninfra:", err) // after the output of the CDK's process
		os.Exit(1)
	}
}

func run() error {
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false)})
	_, err := compose(app)
	if err == nil {
		app.Synth(nil)
	}
	return err
}

// compose creates the stack that the context of app asks for.
func compose(app awscdk.App) (awscdk.Stack, error) {
	s, err := read(app.Node())
	if err != nil {
		return nil, err
	}
	groups, err := api.Groups(functions.Without(s.noExecutives)...)
	if err != nil {
		return nil, err
	}
	if err := s.programs(functionNames(groups)); err != nil {
		return nil, err
	}
	stack := awscdk.NewStack(app, jsii.String(s.stack()), &awscdk.StackProps{
		Description: jsii.String("Organizational Operations Service"), AnalyticsReporting: jsii.Bool(false),
		TerminationProtection: jsii.Bool(true),
	})
	stack.TemplateOptions().SetMetadata(&map[string]any{"cfn-lint": map[string]any{"config": map[string]any{
		"ignore_checks": []string{"W3005"}, // the CDK makes a function depend on its role and on the role's policy
	}}})
	if s.egress {
		s.Egress = egress.New(stack)
		output(stack, "EgressAddresses", "The addresses from which webhooks, syncs, certifications and sign-ins leave", s.Egress.Addresses())
	}
	d := data.New(stack, s.wrapping, s.restored)
	d.Applications = s.applications
	a := api.New(stack, api.Props{Functions: s.Settings, Groups: groups, Data: d, Firewall: s.firewall, Origins: s.origins, PlanLimits: !s.unlimited, Domain: s.domain, Canary: s.canary})
	e := events.New(stack, events.Props{Functions: s.Settings, Data: d, API: a})
	if err := s.reserves(slices.Concat(a.Functions(), e.Functions())); err != nil {
		return nil, err
	}
	dashboard := watch.New(stack, watch.Props{API: a, Data: d, Events: e, Topic: s.topic, Certificate: s.domain.Certificate, Budget: s.budget})
	tag(stack)

	output(stack, "ApiUrl", "Base URL of the API", a.URL())
	if a.Domain.Name != "" {
		output(stack, "GeneratedUrl", "Base URL of the API at its generated address, which goes on", a.GeneratedURL())
		output(stack, "DomainTarget", "What the domain's record leads to, as an alias or a CNAME", a.Target())
	}
	output(stack, "ProvisionerName", "The function that creates companies", *e.Provisioner.FunctionName())
	output(stack, "TableName", "The main table", *d.Main.TableName())
	output(stack, "AllowNetworks", "Private networks that deliveries may reach", s.shownNetworks())
	output(stack, "DashboardUrl", "The service's dashboard in CloudWatch",
		"https://"+*stack.Region()+".console.aws.amazon.com/cloudwatch/home?region="+*stack.Region()+"#dashboards/dashboard/"+dashboard)
	output(stack, "AdminVariables", "Shell line that sets the variables of `orgops admin` for this stack", variables(d, a, e))
	output(stack, "CreateCompanyCommand", "Creates a company and prints its first founder's password, once",
		"aws lambda invoke --region "+*stack.Region()+" --function-name "+*e.Provisioner.FunctionName()+
			` --cli-binary-format raw-in-base64-out --payload '{"name":"Example","email":"you@example.com"}' /dev/stdout`)
	return stack, nil
}

// tag adds the tags by which AWS can break down its bill to every resource: the stack's name, and the unit of the stack in lower case.
func tag(stack awscdk.Stack) {
	awscdk.Tags_Of(stack).Add(jsii.String("orgops:stack"), stack.StackName(), nil)
	for _, unit := range *stack.Node().Children() {
		if _, output := unit.(awscdk.CfnOutput); !output {
			awscdk.Tags_Of(unit).Add(jsii.String("orgops:part"), jsii.String(strings.ToLower(*unit.Node().Id())), nil)
		}
	}
}

func variables(d *data.Data, a *api.API, e *events.Events) string {
	export := "export ORGOPS_BACKEND=aws " + api.PlansVariable + "=" + a.PlanIDs()
	for _, v := range slices.Concat(d.Variables(), e.Variables()) {
		export += " " + v[0] + "=" + v[1]
	}
	return export
}

func output(stack awscdk.Stack, name, about, value string) {
	awscdk.NewCfnOutput(stack, &name, &awscdk.CfnOutputProps{Description: &about, Value: &value})
}
