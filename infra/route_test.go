package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/infra/api"
	"orgops/shared/testkit/errtest"
)

// body returns the document that the API is imported from.
func (s *synthesized) body() map[string]any {
	body, _ := s.Resources[s.of("AWS::ApiGateway::RestApi")[0]].Properties["Body"].(map[string]any)
	return body
}

// methods returns the document's methods, as "GET /path" → operation.
func (s *synthesized) methods() map[string]map[string]any {
	methods := map[string]map[string]any{}
	paths, _ := s.body()["paths"].(map[string]any)
	for path, item := range paths {
		operations, _ := item.(map[string]any)
		for method, operation := range operations {
			if method == "x-amazon-apigateway-any-method" {
				method = "any"
			}
			methods[strings.ToUpper(method)+" "+path], _ = operation.(map[string]any)
		}
	}
	return methods
}

var stageVariable = regexp.MustCompile(`:function:\$\{stageVariables\.([A-Za-z0-9_]+)\}/invocations$`)

// called returns the logical id of the function that an integration or an authorizer calls.
func (s *synthesized) called(uri any) string {
	parts := list(dig(uri, "Fn::Join", 1))
	found := stageVariable.FindStringSubmatch(text(parts[len(parts)-1]))
	if found == nil {
		return ""
	}
	return text(dig(s.Resources[s.of("AWS::ApiGateway::Stage")[0]].Properties, "Variables", found[1], "Ref"))
}

// TestRoutes checks that every registered operation has a method on its group's function, with HEAD for each guarded GET, and
// that ANY goes to the function too, also a HEAD that needs no token. There is no other method.
func TestRoutes(t *testing.T) {
	t.Parallel()
	groups, err := api.Groups()
	if err != nil {
		t.Fatal(err)
	}
	methods := stacks["pool"].methods()
	want := map[string]bool{}
	for _, g := range groups {
		for _, r := range g.Routes {
			wanted := map[string]any{r.Method: r.Operation, "ANY": nil}
			if r.Method == http.MethodGet && r.Guarded {
				wanted[http.MethodHead] = r.Operation
			}
			for method, operation := range wanted {
				name := method + " " + r.Path
				want[name] = true
				m, ok := methods[name]
				if !ok {
					t.Errorf("%s has no method", name)
					continue
				}
				has(t, name, m, map[string]any{
					"operationId": operation, "x-amazon-apigateway-integration.type": "aws_proxy",
					"x-amazon-apigateway-integration.httpMethod": "POST", "x-amazon-apigateway-integration.timeoutInMillis": 29000.0,
				})
				function := stacks["pool"].called(dig(m, "x-amazon-apigateway-integration", "uri"))
				if want := "Api" + g.Name + "Function"; !strings.HasPrefix(function, want) {
					t.Errorf("%s goes to %q, want %s", name, function, want)
				}
			}
		}
	}
	for name := range methods {
		if !want[name] {
			t.Errorf("%s is not a registered operation", name)
		}
	}
	if len(want) < 30 {
		t.Errorf("%d operations, want at least 30", len(want))
	}
}

// TestRoutes_Guarded checks that a company's routes require the authorizer and a usage key, and that only the listed routes
// are public.
func TestRoutes_Guarded(t *testing.T) {
	t.Parallel()
	open := []string{
		"GET /.well-known/jwks.json", "GET /.well-known/oauth-authorization-server",
		"GET /.well-known/oauth-protected-resource/companies/{companyId}/mcp", "GET /.well-known/openid-configuration", "GET /auth/authorize", "GET /auth/connect/callback",
		"GET /auth/saml/{companyId}/metadata", "GET /auth/slack/callback", "GET /auth/sso/callback", "GET /auth/sso/{companyId}/start", "GET /auth/unsubscribe/{token}",
		"GET /console", "GET /console/{file}", "GET /healthz", "GET /problems/{kind}",
		"POST /auth/challenge", "POST /auth/invitation", "POST /auth/login", "POST /auth/reset", "POST /auth/reset/{code}", "POST /auth/revoke", "POST /auth/saml/{companyId}/acs", "POST /auth/token", "POST /auth/unsubscribe/{token}",
		"POST /companies/{companyId}/mcp", // its function is its guard, and names its metadata in a refusal
		"POST /inbound/{companyId}/{provider}", "POST /slack/interactions/{id}",
	}
	own := []string{"GET /auth/consent", "HEAD /auth/consent", "POST /auth/consent", "GET /auth/factors", "HEAD /auth/factors", "POST /auth/factors", "DELETE /auth/factors/{factorId}", "POST /auth/factors/{factorId}/confirm", "POST /auth/recovery-codes", "POST /auth/password", "POST /auth/sign-out"} // the authorizer's policy lists them
	for stack, s := range stacks {
		var public []string
		for name, m := range s.methods() {
			if m["security"] == nil {
				if !strings.HasPrefix(name, "ANY ") { // the function refuses or answers OPTIONS
					public = append(public, name)
				}
				continue
			}
			if diff := cmp.Diff([]any{map[string]any{"tokens": []any{}}, map[string]any{"usageKey": []any{}}}, m["security"]); diff != "" {
				t.Errorf("%s %s requires (-want +got):\n%s", stack, name, diff)
			}
			if !strings.Contains(name, " /companies/{companyId}/") && !slices.Contains(own, name) {
				t.Errorf("%s %s is guarded, want only a company's routes and the caller's own guarded", stack, name)
			}
		}
		slices.Sort(public)
		if diff := cmp.Diff(open, public); diff != "" {
			t.Errorf("%s: open routes (-want +got):\n%s", stack, diff)
		}
	}
}

// TestAuthorizer checks what the security schemes of guarded routes mean: the answer of the authorizer's function to a bearer
// token, and a usage key, which that answer names.
func TestAuthorizer(t *testing.T) {
	t.Parallel()
	for name, s := range stacks {
		has(t, name, s.body(), map[string]any{
			"x-amazon-apigateway-api-key-source":     "AUTHORIZER",
			"components.securitySchemes.usageKey":    map[string]any{"type": "apiKey", "name": "x-api-key", "in": "header"},
			"components.securitySchemes.tokens.type": "apiKey", "components.securitySchemes.tokens.in": "header",
			"components.securitySchemes.tokens.name": "Authorization", "components.securitySchemes.tokens.x-amazon-apigateway-authtype": "custom",
		})
		authorizer := dig(s.body(), "components", "securitySchemes", "tokens", "x-amazon-apigateway-authorizer")
		has(t, name, authorizer, map[string]any{"type": "token", "authorizerResultTtlInSeconds": 300.0})
		pattern := regexp.MustCompile(text(dig(authorizer, "identityValidationExpression")))
		for header, want := range map[string]bool{"Bearer a.b-c_d": true, "bearer a==": true, "Basic YTpi": false, "Bearer a b": false, "": false} {
			if got := pattern.MatchString(header); got != want {
				t.Errorf("%s: the authorizer is asked about %q = %t, want %t", name, header, got, want)
			}
		}
		if function := s.called(dig(authorizer, "authorizerUri")); !strings.HasPrefix(function, "ApiauthorizerFunction") {
			t.Errorf("%s: tokens go to %q, want the authorizer", name, function)
		}
	}
}

// TestPermissions_Gateway checks that this API, and no other API, may call each function that the document names.
func TestPermissions_Gateway(t *testing.T) {
	t.Parallel()
	for name, s := range stacks {
		variables, _ := s.Resources[s.of("AWS::ApiGateway::Stage")[0]].Properties["Variables"].(map[string]any)
		want := map[string]string{} // by the function's logical id
		for _, ref := range variables {
			function := text(dig(ref, "Ref"))
			if function == "" { // the function's name, and that of its alias
				function = text(dig(ref, "Fn::Join", 1, 0, "Ref"))
			}
			want[function] = "/live/*/*"
			if strings.HasPrefix(function, "Apiauthorizer") {
				want[function] = "/authorizers/*"
			}
		}
		got := map[string]string{}
		for _, id := range s.of("AWS::Lambda::Permission") {
			p := s.Resources[id].Properties
			if p["Principal"] != "apigateway.amazonaws.com" {
				continue
			}
			arn := list(dig(p, "SourceArn", "Fn::Join", 1))
			rest, source := dig(arn[len(arn)-2], "Ref"), text(arn[len(arn)-1])
			if rest != s.of("AWS::ApiGateway::RestApi")[0] {
				t.Errorf("%s: %s is for %v, want this API alone", name, id, arn)
			}
			function := text(dig(p, "FunctionName", "Fn::GetAtt", 0))
			if function == "" {
				function = text(dig(s.Resources[text(dig(p, "FunctionName", "Ref"))].Properties, "FunctionName", "Ref"))
			}
			got[function] += source
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the gateway may call (-want +got):\n%s", name, diff)
		}
		if len(want) != len(functionsOf(name))-len(workers())+1 {
			t.Errorf("%s: the stage names %d functions, want the authorizer and every group's", name, len(want))
		}
	}
}

// TestExecutives checks that the context executives=false, which the silo has, deploys neither the function of the Executive
// Runtime nor its routes, and tells the group that carries out what was approved.
func TestExecutives(t *testing.T) {
	t.Parallel()
	for stack, want := range map[string]bool{"pool": true, "silo": false} {
		routes, functions := 0, 0
		for name := range stacks[stack].methods() {
			if strings.Contains(name, "/executives") {
				routes++
			}
		}
		for _, id := range stacks[stack].of("AWS::Lambda::Function") {
			if strings.Contains(id, "executives") {
				functions++
			}
			if !strings.Contains(id, "operations") {
				continue
			}
			told := dig(stacks[stack].Resources[id].Properties, "Environment", "Variables", "EXECUTIVES_ENABLED")
			if got := told != "false"; got != want {
				t.Errorf("%s: EXECUTIVES_ENABLED of %s is %v, want false only where the executives are left out", stack, id, told)
			}
		}
		if got := routes > 0; got != want {
			t.Errorf("%s has %d methods of executives, want some: %t", stack, routes, want)
		}
		if got := functions > 0; got != want {
			t.Errorf("%s has %d functions of executives, want some: %t", stack, functions, want)
		}
	}
}

// TestDeployment checks what a change of routes does to the API: it changes the document alone, so the API keeps its id, which is in
// the settings of every provider's webhooks and in every issued token. The stage, which is in the same addresses, stays too and gets another
// deployment, which is a snapshot of the API.
func TestDeployment(t *testing.T) {
	t.Parallel()
	before, after := stacks["pool"], fewer
	if diff := cmp.Diff(before.of("AWS::ApiGateway::RestApi"), after.of("AWS::ApiGateway::RestApi")); diff != "" {
		t.Fatalf("the API (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before.of("AWS::ApiGateway::Stage"), after.of("AWS::ApiGateway::Stage")); diff != "" {
		t.Errorf("the stage (-before +after):\n%s", diff)
	}
	if same := before.of("AWS::ApiGateway::Deployment")[0]; slices.Contains(after.of("AWS::ApiGateway::Deployment"), same) {
		t.Errorf("the deployment is still %s, want another, or else the routes are not deployed", same)
	}
	for kind, changed := range map[string][]string{"AWS::ApiGateway::RestApi": {"Body"}, "AWS::ApiGateway::Stage": {"DeploymentId", "Variables"}} {
		id := before.of(kind)[0]
		was, is := before.Resources[id].Properties, after.Resources[id].Properties
		var got []string
		all := maps.Clone(was)
		maps.Copy(all, is)
		for property := range all {
			if !cmp.Equal(was[property], is[property]) {
				got = append(got, property)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(changed, got); diff != "" {
			t.Errorf("%s: changed properties (-want +got):\n%s", kind, diff)
		}
		for _, property := range replacing(t, kind) {
			if slices.Contains(got, property) {
				t.Errorf("%s: a change of %s replaces the resource", kind, property)
			}
		}
	}
	if got := dig(before.Resources[before.of("AWS::ApiGateway::RestApi")[0]].Properties, "Mode"); got != "overwrite" {
		t.Errorf("the API is imported in mode %v, want overwrite, or else removed routes stay", got)
	}
}

// replacing returns the properties of a type whose change replaces the resource.
func replacing(t *testing.T, kind string) []string {
	t.Helper()
	var all []string
	for _, pointer := range schemaOf(t, kind).CreateOnlyProperties {
		all = append(all, strings.TrimPrefix(pointer, "/properties/"))
	}
	return all
}

// schema holds what CloudFormation says of a type of resources.
type schema struct {
	TypeName             string
	CreateOnlyProperties []string
	Tagging              struct {
		Taggable    bool
		TagProperty string
	}
}

// schemaOf reads a type's schema from those that cfn-lint has of AWS.
func schemaOf(t *testing.T, kind string) schema {
	t.Helper()
	schemas, err := filepath.Glob("../.tools/templates/lib/python3*/site-packages/cfnlint/data/schemas")
	errtest.Must(t, err)
	if len(schemas) != 1 {
		t.Fatalf("folders of schemas %q, want one: run make tools", schemas)
	}
	var files map[string]string
	decode(t, filepath.Join(schemas[0], "providers", "eu-central-1.json"), &files)
	var s schema
	decode(t, filepath.Join(schemas[0], "resources", files[kind]+".json"), &s)
	if s.TypeName != kind {
		t.Fatalf("the schema of %s is one of %q", kind, s.TypeName)
	}
	return s
}

func decode(t *testing.T, file string, v any) {
	t.Helper()
	text, err := os.ReadFile(file)
	errtest.Must(t, err)
	errtest.Must(t, json.Unmarshal(text, v))
}

// TestRefusals checks that the gateway's own answers are problem documents for pages of the same origins as the functions'.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for stack, origin := range map[string]string{"pool": "*", "silo": "https://app.example.com"} {
		refusals(t, stacks[stack], origin)
		for _, id := range stacks[stack].of("AWS::Lambda::Function") {
			var want any // a group's functions are told the origins, and no other
			if strings.HasPrefix(id, "Api") && !strings.HasPrefix(id, "Apiauthorizer") {
				want = origin
			}
			has(t, stack+" "+id, stacks[stack].Resources[id].Properties, map[string]any{"Environment.Variables.ORGOPS_CORS_ORIGINS": want})
		}
	}
}

func refusals(t *testing.T, s *synthesized, origin string) {
	t.Helper()
	of := map[string]map[string]any{}
	responses, _ := s.body()["x-amazon-apigateway-gateway-responses"].(map[string]any)
	for kind, p := range responses {
		var problem map[string]any
		if err := json.Unmarshal([]byte(text(dig(p, "responseTemplates", "application/json"))), &problem); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		of[kind] = problem
		headers, _ := dig(p, "responseParameters").(map[string]any)
		for name, want := range map[string]string{
			"Content-Type": "'application/problem+json'", "Access-Control-Allow-Origin": "'" + origin + "'", "Cache-Control": "'no-store'",
		} {
			if got := headers["gatewayresponse.header."+name]; got != want {
				t.Errorf("%s: %s is %v, want %s", kind, name, got, want)
			}
		}
		if status, named := problem["status"]; named && dig(p, "statusCode") != fmt.Sprint(status) {
			t.Errorf("%s: status %v in the body, want %v as on the answer", kind, status, dig(p, "statusCode"))
		}
	}
	for kind, want := range map[string]string{
		"UNAUTHORIZED": "/problems/unauthenticated", "ACCESS_DENIED": "/problems/forbidden", "THROTTLED": "/problems/quota-exceeded", "REQUEST_TOO_LARGE": "/problems/too-large",
		"MISSING_AUTHENTICATION_TOKEN": "/problems/not-found", "DEFAULT_5XX": "/problems/internal",
	} {
		if got := of[kind]["type"]; got != want {
			t.Errorf("%s is %v, want %s", kind, got, want)
		}
	}
}

// TestAccessLog checks that a line is JSON and holds no value in which a caller could send a secret.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	s := stacks["pool"]
	stage := s.Resources[s.of("AWS::ApiGateway::Stage")[0]].Properties
	var line map[string]string
	if err := json.Unmarshal([]byte(text(dig(stage, "AccessLogSetting", "Format"))), &line); err != nil {
		t.Fatal(err)
	}
	for name, value := range line {
		for _, secret := range []string{"header", "query", "$context.path", "requestOverride", "apiKey", "userAgent"} {
			if strings.Contains(value, secret) {
				t.Errorf("%s logs %s, want nothing of %s", name, value, secret)
			}
		}
	}
	for _, setting := range list(stage["MethodSettings"]) {
		has(t, "log of the methods", setting, map[string]any{"LoggingLevel": "ERROR", "DataTraceEnabled": nil, "MetricsEnabled": nil})
	}
}

// document matches the public methods that have the stage's limits, because they read nothing or come in great numbers.
var document = regexp.MustCompile(`^(GET /?(\.well-known/|healthz$|problems/|console)|[A-Z]+ /?auth/unsubscribe/)`)

// TestThrottles checks that each method that a stranger can call, and that is no document, has a throttle of its own below the stage's,
// which every other method has.
func TestThrottles(t *testing.T) {
	t.Parallel()
	s := stacks["pool"]
	limits := map[string][2]any{}
	for _, setting := range list(s.Resources[s.of("AWS::ApiGateway::Stage")[0]].Properties["MethodSettings"]) {
		limits[text(dig(setting, "HttpMethod"))+" "+text(dig(setting, "ResourcePath"))] = [2]any{dig(setting, "ThrottlingRateLimit"), dig(setting, "ThrottlingBurstLimit")}
	}
	named := map[string][2]any{
		"POST /auth/login": {50.0, 100.0}, "POST /auth/invitation": {50.0, 100.0}, "POST /auth/challenge": {50.0, 100.0}, "POST /auth/reset": {50.0, 100.0}, "POST /auth/reset/{code}": {50.0, 100.0}, "POST /auth/revoke": {50.0, 100.0}, "POST /auth/token": {50.0, 100.0},
		"GET /auth/authorize":    {50.0, 100.0},
		"GET /auth/sso/callback": {50.0, 100.0}, "POST /auth/saml/{companyId}/acs": {50.0, 100.0},
		"POST /inbound/{companyId}/{provider}": {5000.0, 5000.0},
	}
	// the stage's limits hold: the function is the guard, or limits each source before it reads
	stages := []string{"POST /companies/{companyId}/mcp", "POST /slack/interactions/{id}", "GET /auth/connect/callback", "GET /auth/slack/callback"}
	want := map[string][2]any{"* /*": {1000.0, 2000.0}}
	for method, operation := range s.methods() {
		if operation["security"] != nil || strings.HasPrefix(method, "ANY ") || document.MatchString(method) {
			continue
		}
		if slices.Contains(stages, method) {
			continue
		}
		limit, ok := named[method]
		if !ok {
			limit = [2]any{100.0, 200.0}
		}
		name, path, _ := strings.Cut(method, " ")
		want[name+" /"+strings.ReplaceAll(path, "/", "~1")] = limit
	}
	if diff := cmp.Diff(want, limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}

func TestPlans(t *testing.T) {
	t.Parallel()
	s := stacks["pool"]
	if got := len(s.of("AWS::ApiGateway::UsagePlan")); got != 3 {
		t.Errorf("%d usage plans, want 3", got)
	}
	rest := s.Resources[s.of("AWS::ApiGateway::RestApi")[0]].Properties
	has(t, "API", rest, map[string]any{"ApiKeySourceType": "AUTHORIZER", "EndpointConfiguration.Types.0": "REGIONAL"})
}

// TestCompression checks that the gateway compresses the console's script and style sheet, and no short answer: below a
// kilobyte gzip saves no packet. AWS allows 0 to 10,485,760 bytes, compresses for a client that accepts gzip or deflate, and
// leaves alone an answer that has a Content-Encoding. Without binary media types a body reaches a function as text, as the
// signatures of inbound webhooks need.
func TestCompression(t *testing.T) {
	t.Parallel()
	s := stacks["pool"]
	rest := s.Resources[s.of("AWS::ApiGateway::RestApi")[0]].Properties
	has(t, "API", rest, map[string]any{"MinimumCompressionSize": 1024.0})
	if got, found := rest["BinaryMediaTypes"]; found {
		t.Errorf("binary media types %v, want none", got)
	}
	for _, name := range []string{"app.js", "operations.js", "sso.js", "app.css"} {
		file, err := os.Stat(filepath.Join("..", "functions", "console", "dist", name))
		errtest.Must(t, err)
		if file.Size() < 1024 {
			t.Errorf("%s has %d bytes, want at least 1024, or else the gateway does not compress it", name, file.Size())
		}
	}
}

// TestFirewall checks that only a stack whose context asks for it has a firewall.
func TestFirewall(t *testing.T) {
	t.Parallel()
	if got := stacks["pool"].of("AWS::WAFv2::WebACL"); len(got) != 0 {
		t.Errorf("the pool has firewalls %q, want none", got)
	}
	if got := stacks["silo"].of("AWS::WAFv2::WebACLAssociation"); len(got) != 1 {
		t.Errorf("the silo's API has firewalls %q, want one", got)
	}
	acl := stacks["silo"].Resources[stacks["silo"].of("AWS::WAFv2::WebACL")[0]].Properties
	if got := len(list(acl["Rules"])); got != 4 {
		t.Errorf("the firewall has %d rules, want 4: the bill (firewallRules in local/measure/cost) counts those", got)
	}
	for _, rule := range list(acl["Rules"]) {
		name := text(dig(rule, "Name"))
		encoded, err := json.Marshal(dig(rule, "Statement"))
		errtest.Must(t, err)
		want := map[string]string{
			"PerAddress": `"NotStatement":{"Statement":{"ByteMatchStatement"`, "SignInPerAddress": `"SearchString":"/auth/"`,
			"AWSManagedRulesKnownBadInputsRuleSet": `"SearchString":"/inbound/"`, // it reads bodies
		}[name]
		if !strings.Contains(string(encoded), want) {
			t.Errorf("rule %s: %s, want one with %s", name, encoded, want)
		}
	}
}
