// Package api builds the public REST API: regional, with the registered operations as its resources and methods, one Lambda
// function per route group, and the authorizer in front of every company's routes.
//
// The functions refuse bodies above 1 MiB (413), as they do locally. They receive bodies up to 6 MB, the limit of an
// invocation. Above that Lambda refuses the gateway's call; AWS does not document the resulting answer. Above 10 MB the
// gateway refuses with its own 413, its only answer that cannot be replaced. An answer is limited to 6 MB and 29 seconds.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html
package api

import (
	"fmt"
	"net/http"

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
	Origins   web.Origins // web pages that may read answers
}

// API holds the REST API with its functions and usage plans.
type API struct {
	REST       awsapigateway.RestApi
	Authorizer *function.Function
	groups     []*function.Function
	Plans      map[string]awsapigateway.UsagePlan // by the name of the company's plan
}

// Functions returns the authorizer and the route groups' functions.
func (a *API) Functions() []*function.Function {
	return append([]*function.Function{a.Authorizer}, a.groups...)
}

// stage names the stage, which is part of every address. It is a constant because a function receives the address of its own
// API before the API is deployed.
const stage = "live"

// gatewayTimeout limits how long the gateway waits for a function, in seconds.
const gatewayTimeout = 29

// New builds the API.
func New(scope constructs.Construct, p Props) *API {
	unit := constructs.NewConstruct(scope, jsii.String("Api"))
	a := &API{REST: gateway(unit, p.Groups)}
	respond(a.REST, p.Origins)
	a.Authorizer = function.New(unit, p.Functions, function.Props{
		Name: "authorizer", About: "Admits a token to its own company's routes", Memory: 256, Timeout: 5, Traced: true,
	})
	a.issue(a.Authorizer)
	p.Data.Tokens(a.Authorizer)
	authorizer := a.authorizer(unit)
	for _, g := range p.Groups {
		f := a.group(unit, p, g)
		a.groups = append(a.groups, f)
		integration := integrate(a.REST, f)
		for _, r := range g.Routes {
			a.route(r, integration, authorizer)
			if r.Method == http.MethodGet && r.Guarded { // the gateway does not answer HEAD by itself; a public one goes by ANY
				r.Method = http.MethodHead
				a.route(r, integration, authorizer)
			}
		}
		for _, path := range g.paths() {
			a.catchAll(path, integration)
		}
	}
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

// URL returns the base URL of the API, without a trailing slash.
func (a *API) URL() string {
	return fmt.Sprintf("https://%s.execute-api.%s.%s/%s",
		*a.REST.RestApiId(), *a.REST.Stack().Region(), *a.REST.Stack().UrlSuffix(), stage)
}

// issue sets the issuer of tokens in a function's environment.
func (a *API) issue(f *function.Function) { f.Set("ORGOPS_ISSUER", a.URL()) }

func gateway(scope constructs.Construct, groups []Group) awsapigateway.RestApi {
	log := awslogs.NewLogGroup(scope, jsii.String("AccessLog"), &awslogs.LogGroupProps{
		Retention: awslogs.RetentionDays_ONE_MONTH, RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	rest := awsapigateway.NewRestApi(scope, jsii.String("Gateway"), &awsapigateway.RestApiProps{
		RestApiName:      awscdk.Stack_Of(scope).StackName(), // distinguishes its metrics from those of another stack's API
		Description:      jsii.String("Organizational Operations Service"),
		EndpointTypes:    &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL},
		ApiKeySourceType: awsapigateway.ApiKeySourceType_AUTHORIZER,
		CloudWatchRole:   jsii.Bool(true),
		// Compresses answers of a kilobyte or more for clients that accept gzip. The console's script is a third of its size then.
		// The functions answer without Content-Encoding, because the gateway leaves alone what has one.
		MinCompressionSize: awscdk.Size_Bytes(jsii.Number(1024)),
		// Execution logs hold errors only; with the data trace they would hold tokens and bodies. The stage's metrics are free and
		// sufficient; metrics by method would cost five paid metrics for each method.
		DeployOptions: &awsapigateway.StageOptions{
			StageName: jsii.String(stage), TracingEnabled: jsii.Bool(true), MetricsEnabled: jsii.Bool(false),
			LoggingLevel: awsapigateway.MethodLoggingLevel_ERROR, DataTraceEnabled: jsii.Bool(false),
			ThrottlingRateLimit: jsii.Number(100), ThrottlingBurstLimit: jsii.Number(200), MethodOptions: methodLimits(groups),
			AccessLogDestination: awsapigateway.NewLogGroupLogDestination(log),
			AccessLogFormat:      awsapigateway.AccessLogFormat_Custom(jsii.String(accessLog)),
		},
	})
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
func executionLog(scope constructs.Construct, rest awsapigateway.RestApi) {
	log := awslogs.NewLogGroup(scope, jsii.String("ExecutionLog"), &awslogs.LogGroupProps{
		LogGroupName: jsii.String("API-Gateway-Execution-Logs_" + *rest.RestApiId() + "/" + stage),
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

// tokenPattern lets the gateway refuse malformed bearer tokens without calling the authorizer (RFC 6750 §2.1).
const tokenPattern = "^[Bb][Ee][Aa][Rr][Ee][Rr] +[A-Za-z0-9._~+/-]+=*$"

func (a *API) authorizer(scope constructs.Construct) awsapigateway.IAuthorizer {
	return awsapigateway.NewTokenAuthorizer(scope, jsii.String("Tokens"), &awsapigateway.TokenAuthorizerProps{
		Handler: a.Authorizer.Function, ValidationRegex: jsii.String(tokenPattern),
		ResultsCacheTtl: awscdk.Duration_Minutes(jsii.Number(5)), // the functions check the token's expiry again
	})
}

// integrate lets the gateway call a function. One permission covers all of its methods, because a function's policy is
// limited to 20 kB.
func integrate(rest awsapigateway.RestApi, f *function.Function) awsapigateway.Integration {
	f.AddPermission(jsii.String("Gateway"), &awslambda.Permission{
		Principal: awsiam.NewServicePrincipal(jsii.String("apigateway.amazonaws.com"), nil),
		SourceArn: rest.ArnForExecuteApi(nil, nil, jsii.String(stage)),
	})
	return awsapigateway.NewAwsIntegration(&awsapigateway.AwsIntegrationProps{
		Service: jsii.String("lambda"), Proxy: jsii.Bool(true), IntegrationHttpMethod: jsii.String("POST"),
		Path:    jsii.String("2015-03-31/functions/" + *f.FunctionArn() + "/invocations"),
		Options: &awsapigateway.IntegrationOptions{Timeout: awscdk.Duration_Seconds(jsii.Number(gatewayTimeout))},
	})
}

// route creates an operation's method, and the resources of its path.
func (a *API) route(r Route, integration awsapigateway.Integration, authorizer awsapigateway.IAuthorizer) {
	options := &awsapigateway.MethodOptions{OperationName: &r.Operation, AuthorizationType: awsapigateway.AuthorizationType_NONE}
	if r.Guarded {
		options.AuthorizationType, options.Authorizer, options.ApiKeyRequired = "", authorizer, jsii.Bool(true)
	}
	method := a.REST.Root().ResourceForPath(&r.Path).AddMethod(&r.Method, integration, options)
	if r.Guarded {
		nag.Suppress(method, "AwsSolutions-COG4", "The service issues its own tokens (RFC 9068), which the Lambda authorizer checks")
		return
	}
	nag.Suppress(method, "AwsSolutions-APIG4", publicReason)
	nag.Suppress(method, "AwsSolutions-COG4", publicReason)
}

// catchAll sends all other methods of a path to the function as well. The function answers OPTIONS, which browsers send
// without a token, with the allowed methods, and other requests with 405 and Allow. The method needs no authorizer: the
// function guards its operations itself.
func (a *API) catchAll(path string, integration awsapigateway.Integration) {
	method := a.REST.Root().ResourceForPath(&path).AddMethod(jsii.String("ANY"), integration, &awsapigateway.MethodOptions{
		AuthorizationType: awsapigateway.AuthorizationType_NONE,
	})
	const reason = "Only requests that match no operation come here: the function answers them with 405 or, for OPTIONS, with the allowed methods, and guards its operations itself"
	nag.Suppress(method, "AwsSolutions-APIG4", reason)
	nag.Suppress(method, "AwsSolutions-COG4", reason)
}

const publicReason = "Public by contract: login, the keys that verify tokens, liveness, the console's files, and webhooks, which a signature authenticates"
