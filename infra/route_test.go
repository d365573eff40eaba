package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/infra/api"
	"orgops/shared/testkit/errtest"
)

// methods returns the template's methods, as "GET /path" → properties.
func (s *synthesized) methods() map[string]map[string]any {
	paths := map[string]string{}
	var path func(id string) string
	path = func(id string) string {
		if known, ok := paths[id]; ok || s.Resources[id].Type != "AWS::ApiGateway::Resource" {
			return known
		}
		p := s.Resources[id].Properties
		paths[id] = path(text(dig(p, "ParentId", "Ref"))) + "/" + text(p["PathPart"])
		return paths[id]
	}
	methods := map[string]map[string]any{}
	for _, id := range s.of("AWS::ApiGateway::Method") {
		p := s.Resources[id].Properties
		methods[text(p["HttpMethod"])+" "+path(text(dig(p, "ResourceId", "Ref")))] = p
	}
	return methods
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
				if m["OperationName"] != operation {
					t.Errorf("%s is operation %v, want %s", name, m["OperationName"], operation)
				}
				has(t, name, m, map[string]any{"Integration.Type": "AWS_PROXY"})
				target, _ := json.Marshal(dig(m, "Integration", "Uri"))
				if want := `"Api` + g.Name + `Function`; !strings.Contains(string(target), want) {
					t.Errorf("%s goes to %s, want %s", name, target, want)
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
		"GET /.well-known/jwks.json", "GET /auth/saml/{companyId}/metadata", "GET /auth/sso/callback", "GET /auth/sso/{companyId}/start",
		"GET /console", "GET /console/{file}", "GET /healthz", "GET /problems/{kind}",
		"POST /auth/invitation", "POST /auth/login", "POST /auth/saml/{companyId}/acs", "POST /auth/token", "POST /inbound/{companyId}/{provider}",
	}
	own := []string{"POST /auth/password", "POST /auth/sign-out"} // the authorizer's policy lists them
	for stack, s := range stacks {
		var public []string
		for name, m := range s.methods() {
			if strings.HasPrefix(name, "ANY ") { // the function refuses or answers OPTIONS
				continue
			}
			if m["AuthorizationType"] == "NONE" {
				public = append(public, name)
				continue
			}
			has(t, stack+" "+name, m, map[string]any{"AuthorizationType": "CUSTOM", "ApiKeyRequired": true})
			authorizer := s.Resources[text(dig(m, "AuthorizerId", "Ref"))]
			has(t, "authorizer of "+stack+" "+name, authorizer.Properties, map[string]any{"Type": "TOKEN"})
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

// TestDeployment checks that the deployment, a snapshot of the API, depends on all that it includes.
func TestDeployment(t *testing.T) {
	t.Parallel()
	for stack, s := range stacks {
		before := s.Resources[s.of("AWS::ApiGateway::Deployment")[0]].DependsOn
		for _, kind := range []string{"Authorizer", "Method", "GatewayResponse"} {
			for _, id := range s.of("AWS::ApiGateway::" + kind) {
				if !slices.Contains(before, id) {
					t.Errorf("%s: the deployment waits for %q, want %s among them", stack, before, id)
				}
			}
		}
	}
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
	for _, id := range s.of("AWS::ApiGateway::GatewayResponse") {
		p := s.Resources[id].Properties
		kind := text(p["ResponseType"])
		var problem map[string]any
		if err := json.Unmarshal([]byte(text(dig(p, "ResponseTemplates", "application/json"))), &problem); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		of[kind] = problem
		headers, _ := p["ResponseParameters"].(map[string]any)
		for name, want := range map[string]string{
			"Content-Type": "'application/problem+json'", "Access-Control-Allow-Origin": "'" + origin + "'", "Cache-Control": "'no-store'",
		} {
			if got := headers["gatewayresponse.header."+name]; got != want {
				t.Errorf("%s: %s is %v, want %s", kind, name, got, want)
			}
		}
		if status, named := problem["status"]; named && p["StatusCode"] != fmt.Sprint(status) {
			t.Errorf("%s: status %v in the body, want %v as on the answer", kind, status, p["StatusCode"])
		}
	}
	for kind, want := range map[string]string{
		"UNAUTHORIZED": "/problems/unauthenticated", "ACCESS_DENIED": "/problems/forbidden", "THROTTLED": "/problems/quota-exceeded",
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
		has(t, "log of the methods", setting, map[string]any{"DataTraceEnabled": false, "LoggingLevel": "ERROR"})
	}
}

// TestThrottles checks that the stage's throttle, which every ANY method has, is below those of the guarded methods, and that
// each of these has its own.
func TestThrottles(t *testing.T) {
	t.Parallel()
	s := stacks["pool"]
	limits := map[string][2]any{}
	for _, setting := range list(s.Resources[s.of("AWS::ApiGateway::Stage")[0]].Properties["MethodSettings"]) {
		limits[text(dig(setting, "HttpMethod"))+" "+text(dig(setting, "ResourcePath"))] = [2]any{dig(setting, "ThrottlingRateLimit"), dig(setting, "ThrottlingBurstLimit")}
	}
	want := map[string][2]any{
		"* /*": {100.0, 200.0}, "POST /~1auth~1login": {50.0, 100.0}, "POST /~1auth~1invitation": {50.0, 100.0},
		"POST /~1auth~1token": {50.0, 100.0}, "GET /~1auth~1sso~1callback": {50.0, 100.0}, "POST /~1auth~1saml~1{companyId}~1acs": {50.0, 100.0},
		"POST /~1inbound~1{companyId}~1{provider}": {300.0, 600.0},
	}
	groups, err := api.Groups()
	errtest.Must(t, err)
	for _, g := range groups {
		for _, r := range g.Routes {
			if r.Guarded {
				at := " /" + strings.ReplaceAll(r.Path, "/", "~1")
				want[r.Method+at] = [2]any{1000.0, 2000.0}
				if r.Method == "GET" {
					want["HEAD"+at] = [2]any{1000.0, 2000.0}
				}
			}
		}
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
}
