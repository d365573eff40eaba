// Package api is the way in: a regional REST API whose resources and methods are the registered operations, one Lambda
// function a route group, and in front of every company's routes the authorizer.
//
// The functions refuse bodies above 1 MiB (413), as they do locally. They are asked about what an invocation can hold, 6 MB.
// Above that Lambda refuses the gateway, and AWS does not say which answer that becomes. Above 10 MB the gateway refuses by
// itself, with a 413 in its own words: of all its answers that is the one that cannot be replaced. An answer may be 6 MB and
// has to be there within 29 seconds.
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

// Props is what the API is made of.
type Props struct {
	Functions function.Settings
	Groups    []Group
	Data      *data.Data
	Firewall  bool        // AWS WAF in front
	Origins   web.Origins // of pages that may read answers
}

// API is the way in.
type API struct {
	REST       awsapigateway.RestApi
	Authorizer *function.Function
	groups     []*function.Function
	Plans      map[string]awsapigateway.UsagePlan // by the name of the company's plan
}

// Functions are the authorizer and the route groups.
func (a *API) Functions() []*function.Function {
	return append([]*function.Function{a.Authorizer}, a.groups...)
}

// stage is part of every address; it is written out because a function that is told the address of its own API
// cannot wait for the API to be deployed.
const stage = "live"

// gatewayTimeout is how long the gateway waits for a function, in seconds.
const gatewayTimeout = 29

// New makes the API.
func New(scope constructs.Construct, p Props) *API {
	unit := constructs.NewConstruct(scope, jsii.String("Api"))
	a := &API{REST: gateway(unit)}
	respond(a.REST, p.Origins)
	a.Authorizer = function.New(unit, p.Functions, function.Props{
		Name: "authorizer", About: "Admits a token to its own company's routes", Memory: 256, Timeout: 5,
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
			if r.Method == http.MethodGet { // the gateway does not answer HEAD by itself
				r.Method = http.MethodHead
				a.route(r, integration, authorizer)
			}
		}
		for _, path := range g.paths() {
			a.others(path, integration)
		}
	}
	a.plan(unit)
	if p.Firewall {
		protect(unit, a.REST)
	} else {
		nag.Excuse(a.REST.DeploymentStage(), "AwsSolutions-APIG3",
			"A web ACL costs more than all else at few companies: -c firewall=true adds it. Throttling and the authorizer stand without it")
	}
	return a
}

// URL is where the API answers, without a slash at its end.
func (a *API) URL() string {
	return fmt.Sprintf("https://%s.execute-api.%s.%s/%s",
		*a.REST.RestApiId(), *a.REST.Stack().Region(), *a.REST.Stack().UrlSuffix(), stage)
}

// issue tells a function the issuer of tokens.
func (a *API) issue(f *function.Function) { f.Set("ORGOPS_ISSUER", a.URL()) }

func gateway(scope constructs.Construct) awsapigateway.RestApi {
	log := awslogs.NewLogGroup(scope, jsii.String("AccessLog"), &awslogs.LogGroupProps{
		Retention: awslogs.RetentionDays_ONE_MONTH, RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	rest := awsapigateway.NewRestApi(scope, jsii.String("Gateway"), &awsapigateway.RestApiProps{
		RestApiName:      awscdk.Stack_Of(scope).StackName(), // what its metrics are told apart by from those of another stack's API
		Description:      jsii.String("Organizational Operations Service"),
		EndpointTypes:    &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL},
		ApiKeySourceType: awsapigateway.ApiKeySourceType_AUTHORIZER,
		CloudWatchRole:   jsii.Bool(true),
		// Execution logs name errors only; with the data trace they would hold tokens and bodies. Metrics of the stage are
		// free and enough; those of each method are five that are paid for by the month.
		DeployOptions: &awsapigateway.StageOptions{
			StageName: jsii.String(stage), TracingEnabled: jsii.Bool(true), MetricsEnabled: jsii.Bool(false),
			LoggingLevel: awsapigateway.MethodLoggingLevel_ERROR, DataTraceEnabled: jsii.Bool(false),
			ThrottlingRateLimit: jsii.Number(1000), ThrottlingBurstLimit: jsii.Number(2000), MethodOptions: doors(),
			AccessLogDestination: awsapigateway.NewLogGroupLogDestination(log),
			AccessLogFormat:      awsapigateway.AccessLogFormat_Custom(jsii.String(accessLog)),
		},
	})
	executionLog(scope, rest)
	rest.Node().TryRemoveChild(jsii.String("Endpoint")) // its output; the stack has its own
	nag.Excuse(rest, "AwsSolutions-APIG2", "The functions check every request against the document's schemas, and name what is wrong")
	nag.Excuse(rest.Node().FindChild(jsii.String("CloudWatchRole")), "AwsSolutions-IAM4",
		"The role with which API Gateway writes logs is the account's, and AWS names this policy for it",
		"Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs")
	return rest
}

// doors are the limits of what anybody may call before anything is known of who calls, apart from the stage's, which a flood
// there would use up for everybody. A method's settings replace the stage's whole.
//
// A login costs a processor some 50 ms for the password's hash. Tokens last an hour, so 50 logins a second are those of
// 180,000 people at work, and of five functions or so. While a flood takes them all nobody logs in anew; who is logged in
// works on. A delivery without a good signature costs some 20 ms and two reads; 300 a second are a million an hour.
func doors() *map[string]*awsapigateway.MethodDeploymentOptions {
	door := func(rate, burst float64) *awsapigateway.MethodDeploymentOptions {
		return &awsapigateway.MethodDeploymentOptions{
			ThrottlingRateLimit: &rate, ThrottlingBurstLimit: &burst,
			MetricsEnabled: jsii.Bool(false), LoggingLevel: awsapigateway.MethodLoggingLevel_ERROR, DataTraceEnabled: jsii.Bool(false),
		}
	}
	return &map[string]*awsapigateway.MethodDeploymentOptions{
		"/auth/login/POST":              door(50, 100),
		"/inbound/{id}/{provider}/POST": door(300, 600),
	}
}

// executionLog makes the log group that the gateway would make by itself, under the name that it looks for, and would
// keep for ever.
func executionLog(scope constructs.Construct, rest awsapigateway.RestApi) {
	log := awslogs.NewLogGroup(scope, jsii.String("ExecutionLog"), &awslogs.LogGroupProps{
		LogGroupName: jsii.String("API-Gateway-Execution-Logs_" + *rest.RestApiId() + "/" + stage),
		Retention:    awslogs.RetentionDays_ONE_MONTH, RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	rest.DeploymentStage().Node().AddDependency(log)
}

// accessLog is a line for each request: who, what, how it went. It has no header, no query, no body and no path, which
// may hold what a person typed; the resource is the path's pattern.
const accessLog = `{"requestId":"$context.requestId","time":"$context.requestTime","ip":"$context.identity.sourceIp",` +
	`"method":"$context.httpMethod","resource":"$context.resourcePath","status":"$context.status",` +
	`"bytes":"$context.responseLength","latency":"$context.responseLatency","functionLatency":"$context.integration.latency",` +
	`"company":"$context.authorizer.company","subject":"$context.authorizer.principalId",` +
	`"refused":"$context.error.responseType","traceId":"$context.xrayTraceId"}`

// tokenPattern turns away what cannot be a bearer token before the authorizer is asked (RFC 6750 §2.1).
const tokenPattern = "^[Bb][Ee][Aa][Rr][Ee][Rr] +[A-Za-z0-9._~+/-]+=*$"

func (a *API) authorizer(scope constructs.Construct) awsapigateway.IAuthorizer {
	return awsapigateway.NewTokenAuthorizer(scope, jsii.String("Tokens"), &awsapigateway.TokenAuthorizerProps{
		Handler: a.Authorizer.Function, ValidationRegex: jsii.String(tokenPattern),
		ResultsCacheTtl: awscdk.Duration_Minutes(jsii.Number(5)), // the functions check the token's expiry again
	})
}

// integrate lets the gateway call a function: one permission for all of its methods, since a function's policy is
// bounded at 20 kB.
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

// route makes an operation's method, and the resources on the way to it.
func (a *API) route(r Route, integration awsapigateway.Integration, authorizer awsapigateway.IAuthorizer) {
	options := &awsapigateway.MethodOptions{OperationName: &r.Operation, AuthorizationType: awsapigateway.AuthorizationType_NONE}
	if r.Guarded {
		options.AuthorizationType, options.Authorizer, options.ApiKeyRequired = "", authorizer, jsii.Bool(true)
	}
	method := a.REST.Root().ResourceForPath(&r.Path).AddMethod(&r.Method, integration, options)
	if r.Guarded {
		nag.Excuse(method, "AwsSolutions-COG4", "The service issues its own tokens (RFC 9068), which the Lambda authorizer checks")
		return
	}
	nag.Excuse(method, "AwsSolutions-APIG4", publicReason)
	nag.Excuse(method, "AwsSolutions-COG4", publicReason)
}

// others sends what no method of a path takes to the function as well, which says what the path takes (405, Allow), and to
// browsers what their pages may send (OPTIONS; they ask without a token). It is open, because nothing can be done there: the
// function guards what it has by itself.
func (a *API) others(path string, integration awsapigateway.Integration) {
	method := a.REST.Root().ResourceForPath(&path).AddMethod(jsii.String("ANY"), integration, &awsapigateway.MethodOptions{
		AuthorizationType: awsapigateway.AuthorizationType_NONE,
	})
	const reason = "Only what no operation takes comes here, and is answered 405, or told what there is (OPTIONS); the function guards its operations by itself"
	nag.Excuse(method, "AwsSolutions-APIG4", reason)
	nag.Excuse(method, "AwsSolutions-COG4", reason)
}

const publicReason = "Public by the contract: logging in, the keys that verify tokens, liveness, and webhooks that prove themselves by a signature"
