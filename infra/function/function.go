// Package function builds a Lambda function with what every function has: a role that may only write the function's own logs
// and traces, a log group with a retention, and settings. The owner of a resource grants any other right and sets the variable
// with the resource's name.
package function

import (
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/egress"
	"orgops/infra/nag"
)

// Settings apply to every function of a stack.
type Settings struct {
	Assets        string // folder with <function>/bootstrap
	Architecture  awslambda.Architecture
	Reserved      map[string]float64 // reserved concurrency by function; without an entry, the account's unreserved rest
	QueueCalls    float64            // concurrent calls that each queue makes of its worker at most
	AllowNetworks string             // ORGOPS_ALLOW_NETWORKS
	Egress        *egress.Egress     // nil: functions send from any of AWS's addresses
	SlackSecret   string             // ARN of the operator's secret with the Slack app; "": none
	SlackURL      string             // ORGOPS_SLACK_URL: where Slack is, for an emulator; "": slack.com
	MailFrom      string             // the address that mails come from, of an identity that SES has verified; "": the service sends no mails
	MailSet       string             // SES's configuration set for them, which the events create
}

// Props describes one function.
type Props struct {
	Name    string // of its folder under functions, and of its asset
	About   string
	Memory  float64 // MiB; the share of a processor grows with it
	Timeout float64 // seconds
	Sends   bool    // calls addresses that tenants chose
	Traced  bool    // records traces. Only a caller such as the gateway can choose which; X-Ray's own rate for functions is fixed
}

// Function holds a Lambda function with its role.
type Function struct {
	awslambda.Function
	Name       string
	Timeout    float64 // seconds
	Reserved   float64 // concurrent calls; 0: the account's unreserved rest
	QueueCalls float64 // concurrent calls by a queue at most
	role       awsiam.Role
}

// New creates a function in a construct of the same name.
func New(scope constructs.Construct, s Settings, p Props) *Function {
	unit := constructs.NewConstruct(scope, &p.Name)
	log := awslogs.NewLogGroup(unit, jsii.String("Log"), &awslogs.LogGroupProps{
		Retention: awslogs.RetentionDays_ONE_MONTH, RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	role := awsiam.NewRole(unit, jsii.String("Role"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil), Description: &p.About,
	})
	props := &awslambda.FunctionProps{
		Description: &p.About, Role: role, LogGroup: log,
		Runtime: awslambda.Runtime_PROVIDED_AL2023(), Architecture: s.Architecture, Handler: jsii.String("bootstrap"),
		Code:       awslambda.Code_FromAsset(jsii.String(filepath.Join(s.Assets, p.Name)), nil),
		MemorySize: &p.Memory, Timeout: awscdk.Duration_Seconds(&p.Timeout), LoggingFormat: awslambda.LoggingFormat_JSON,
		// Lambda reports a call that timed out or crashed. At level INFO it reports every call: 0.7 kB, half of all logs.
		SystemLogLevelV2: awslambda.SystemLogLevel_WARN,
	}
	if p.Traced {
		props.Tracing = awslambda.Tracing_ACTIVE
	}
	if reserved, ok := s.Reserved[p.Name]; ok {
		props.ReservedConcurrentExecutions = &reserved
	}
	fixed := p.Sends && s.Egress != nil
	if fixed {
		props.Vpc, props.SecurityGroups = s.Egress.VPC, &[]awsec2.ISecurityGroup{s.Egress.Group}
	}
	f := &Function{
		Function: awslambda.NewFunction(unit, jsii.String("Function"), props), Name: p.Name, Timeout: p.Timeout, Reserved: s.Reserved[p.Name],
		QueueCalls: s.QueueCalls, role: role,
	}
	f.Allow([]string{"logs:CreateLogStream", "logs:PutLogEvents"}, nil, *log.LogGroupArn())
	if p.Traced {
		nag.Suppress(role, "AwsSolutions-IAM5", "X-Ray's actions PutTraceSegments and PutTelemetryRecords support no resources", "Resource::*")
	}
	if fixed {
		actions, conditions := egress.Interfaces()
		f.Allow(actions, conditions, "*")
		nag.Suppress(role, "AwsSolutions-IAM5", "Lambda's actions on network interfaces support no resources before the interface is there", "Resource::*")
	}
	f.Set("ORGOPS_AUDIENCE", "orgops")
	f.Set("ORGOPS_STACK", *awscdk.Stack_Of(unit).StackName())
	if s.AllowNetworks != "" {
		f.Set("ORGOPS_ALLOW_NETWORKS", s.AllowNetworks)
	}
	if s.SlackURL != "" {
		f.Set("ORGOPS_SLACK_URL", s.SlackURL)
	}
	return f
}

// Set sets an environment variable of the function.
func (f *Function) Set(name, value string) { f.AddEnvironment(&name, &value, nil) }

// Allow allows the function exactly these actions on exactly these resources, under these conditions.
func (f *Function) Allow(actions []string, conditions map[string]any, resources ...string) {
	f.role.AddToPrincipalPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: jsii.Strings(actions...), Resources: jsii.Strings(resources...), Conditions: condition(conditions),
	}))
}

// Role returns the function's execution role.
func (f *Function) Role() awsiam.Role { return f.role }

func condition(conditions map[string]any) *map[string]any {
	if len(conditions) == 0 {
		return nil
	}
	return &conditions
}
