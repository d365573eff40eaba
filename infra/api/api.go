// Package api builds the public REST API: regional, with the registered operations as its resources and methods, one Lambda
// function per route group, and the authorizer in front of every company's routes.
//
// The functions refuse bodies above 1 MiB (413), as they do locally; webhooks of GitHub may be larger. A function receives at most
// 6 MB, the limit of an invocation, and the gateway takes at most 10 MB. A larger body gets the gateway's response REQUEST_TOO_LARGE,
// for which respond.go gives a problem. AWS's documents do not say which of the two answers a body between them. An answer is limited
// to 6 MB and 29 seconds.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html
package api

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/data"
	"orgops/infra/function"
	"orgops/infra/nag"
	"orgops/shared/web"
)

// Props holds what the API is built from.
type Props struct {
	Functions function.Settings
	Groups    []Group
	Data      *data.Data
	Firewall  bool        // adds AWS WAF
	Domain    Domain      // an address of the operator's own
	Origins   web.Origins // web pages that may read answers
	// PlanLimits makes the functions count the requests of companies whose plan has no usage key.
	PlanLimits bool
	Canary     bool // gives each route group an alias, which a deployment moves in steps
}

// API holds the REST API with its functions and usage plans.
type API struct {
	REST       awsapigateway.SpecRestApi
	Authorizer *function.Function
	Domain     Domain
	Aliases    map[string]awslambda.Alias // by the name of a route group's function; empty without a canary
	target     string                     // of the domain's record
	groups     []*function.Function
	Plans      map[string]awsapigateway.UsagePlan // by the name of the company's plan
}

// Functions returns the authorizer and the route groups' functions.
func (a *API) Functions() []*function.Function {
	return append([]*function.Function{a.Authorizer}, a.groups...)
}

// Stage names the stage, which is part of every address. It is a constant because a function receives the address of its own
// API before the API is deployed.
const Stage = "live"

// gatewayTimeout limits how long the gateway waits for a function, in seconds.
const gatewayTimeout = 29

// New builds the API.
func New(scope constructs.Construct, p Props) *API {
	unit := constructs.NewConstruct(scope, jsii.String("Api"))
	a := &API{REST: gateway(unit, p), Domain: p.Domain}
	a.domain(unit)
	a.Authorizer = function.New(unit, p.Functions, function.Props{
		Name: authorizerName, About: "Admits a token to its own company's routes", Memory: 256, Timeout: 5, Traced: true,
	})
	a.Issue(a.Authorizer)
	p.Data.Tokens(a.Authorizer)
	for _, g := range p.Groups {
		a.groups = append(a.groups, a.group(unit, p, g))
	}
	a.call(p.Canary)
	a.plan(unit)
	trace(unit, a.REST)
	if p.Firewall {
		protect(unit, a.REST)
	} else {
		nag.Suppress(a.REST.DeploymentStage(), "AwsSolutions-APIG3",
			"With few companies a web ACL costs more than everything else; -c firewall=true adds it. Throttling and the authorizer work without it")
	}
	return a
}

// URL returns the base URL of the API, without a trailing slash: at its domain, or the generated one.
func (a *API) URL() string {
	if a.Domain.Name != "" {
		return "https://" + a.Domain.Name + a.Domain.BasePath
	}
	return a.GeneratedURL()
}

// GeneratedURL returns the base URL at the address that the gateway has generated, which follows from the API's id.
func (a *API) GeneratedURL() string {
	return fmt.Sprintf("https://%s.execute-api.%s.%s/%s",
		*a.REST.RestApiId(), *a.REST.Stack().Region(), *a.REST.Stack().UrlSuffix(), Stage)
}

// Issue sets the issuer of tokens, which is also the address of sign-ins, in a function's environment. With a domain, tokens and
// sign-ins of the generated address go on.
func (a *API) Issue(f *function.Function) {
	f.Set("ORGOPS_ISSUER", a.URL())
	if a.Domain.Name != "" {
		f.Set("ORGOPS_FORMER_ISSUER", a.GeneratedURL())
	}
}

// about describes the API.
const about = "Organizational Operations Service"

// authorizerName names the authorizer's function.
const authorizerName = "authorizer"

// keySource says that the authorizer returns a request's usage key.
const keySource = "AUTHORIZER"

// compressed is the size in bytes from which the gateway compresses answers for clients that accept gzip. The console's script is a
// third of its size then. The functions answer without Content-Encoding, because the gateway leaves alone what has one.
const compressed = 1024

func gateway(scope constructs.Construct, p Props) awsapigateway.SpecRestApi {
	log := awslogs.NewLogGroup(scope, jsii.String("AccessLog"), &awslogs.LogGroupProps{
		Retention: awslogs.RetentionDays_ONE_MONTH, RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	// A warning of the import says that the gateway has left something out, such as an authorizer. A deployment that fails for it is better
	// than a route without its guard: it changes nothing, and its message is the warning.
	name := awscdk.Stack_Of(scope).StackName() // distinguishes its metrics from those of another stack's API
	rest := awsapigateway.NewSpecRestApi(scope, jsii.String("Gateway"), &awsapigateway.SpecRestApiProps{
		ApiDefinition: awsapigateway.ApiDefinition_FromInline(describe(*name, p.Groups, p.Origins)),
		Mode:          awsapigateway.RestApiMode_OVERWRITE, FailOnWarnings: jsii.Bool(true),
		RestApiName: name, Description: jsii.String(about),
		EndpointTypes:      &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL},
		MinCompressionSize: awscdk.Size_Bytes(jsii.Number(compressed)),
		CloudWatchRole:     jsii.Bool(true),
		DeployOptions: &awsapigateway.StageOptions{
			StageName: jsii.String(Stage), TracingEnabled: jsii.Bool(true),
			AccessLogDestination: awsapigateway.NewLogGroupLogDestination(log),
			AccessLogFormat:      awsapigateway.AccessLogFormat_Custom(jsii.String(accessLog)),
		},
	})
	rest.Node().DefaultChild().(awsapigateway.CfnRestApi).SetApiKeySourceType(jsii.String(keySource))
	cfnStage(rest).SetMethodSettings(methodSettings(p.Groups))
	executionLog(scope, rest)
	rest.Node().TryRemoveChild(jsii.String("Endpoint")) // removes the construct's output; the stack has its own output
	nag.Suppress(rest, "AwsSolutions-APIG2", "The functions validate every request against the document's schemas and report each problem")
	nag.Suppress(rest.Node().FindChild(jsii.String("CloudWatchRole")), "AwsSolutions-IAM4",
		"API Gateway writes logs with one role per account, for which AWS prescribes this policy",
		"Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs")
	return rest
}

// executionLog creates the log group under the name that the gateway uses. Otherwise the gateway would create the group and
// keep its logs forever.
func executionLog(scope constructs.Construct, rest awsapigateway.SpecRestApi) {
	log := awslogs.NewLogGroup(scope, jsii.String("ExecutionLog"), &awslogs.LogGroupProps{
		LogGroupName: jsii.String("API-Gateway-Execution-Logs_" + *rest.RestApiId() + "/" + Stage),
		Retention:    awslogs.RetentionDays_ONE_MONTH, RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	rest.DeploymentStage().Node().AddDependency(log)
}

// accessLog formats one line per request. It holds no headers, query, body or path, because a user may have typed secrets
// into them; the resource is the path's pattern.
const accessLog = `{"requestId":"$context.requestId","time":"$context.requestTime","ip":"$context.identity.sourceIp",` +
	`"method":"$context.httpMethod","resource":"$context.resourcePath","status":"$context.status",` +
	`"bytes":"$context.responseLength","latency":"$context.responseLatency","functionLatency":"$context.integration.latency",` +
	`"company":"$context.authorizer.company","subject":"$context.authorizer.principalId",` +
	`"refused":"$context.error.responseType","traceId":"$context.xrayTraceId"}`

// call lets the gateway call the authorizer and the groups' functions, whose names it reads from the stage's variables. One permission
// covers all methods of a function, because a function's policy is limited to 20 kB. With a canary, the gateway calls a group's alias.
func (a *API) call(canary bool) {
	names := map[string]*string{}
	a.Aliases = map[string]awslambda.Alias{}
	for _, f := range a.Functions() {
		names[variable(f.Name)] = f.FunctionName()
		called := awslambda.IFunction(f.Function)
		if canary && f != a.Authorizer {
			alias := awslambda.NewAlias(f.Function, jsii.String("Live"), &awslambda.AliasProps{AliasName: jsii.String(Stage), Version: f.CurrentVersion()})
			names[variable(f.Name)] = jsii.String(*f.FunctionName() + ":" + Stage)
			a.REST.DeploymentStage().Node().AddDependency(alias) // with its permission, before the gateway calls it
			a.Aliases[f.Name], called = alias, alias
		}
		source := a.REST.ArnForExecuteApi(nil, nil, jsii.String(Stage))
		if f == a.Authorizer {
			source = a.REST.Stack().FormatArn(&awscdk.ArnComponents{
				Service: jsii.String("execute-api"), Resource: a.REST.RestApiId(), ResourceName: jsii.String("authorizers/*"), // the import chooses its id
			})
		}
		called.AddPermission(jsii.String("Gateway"), &awslambda.Permission{
			Principal: awsiam.NewServicePrincipal(jsii.String("apigateway.amazonaws.com"), nil), SourceArn: source,
		})
	}
	cfnStage(a.REST).SetVariables(&names)
}

func cfnStage(rest awsapigateway.SpecRestApi) awsapigateway.CfnStage {
	return rest.DeploymentStage().Node().DefaultChild().(awsapigateway.CfnStage)
}
