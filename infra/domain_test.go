package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/infra/api"
	"orgops/shared/testkit/errtest"
)

// encoded returns a value of a template as JSON.
func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	errtest.Must(t, err)
	return string(text)
}

// TestDomain checks that tokens, sign-ins and outputs follow the domain of the silo, and that its generated address goes on.
func TestDomain(t *testing.T) {
	t.Parallel()
	s := stacks["silo"]
	for _, id := range s.of("AWS::ApiGateway::DomainName") {
		has(t, id, s.Resources[id].Properties, map[string]any{
			"DomainName": "acme.example.com", "SecurityPolicy": "TLS_1_2", "RegionalCertificateArn": certificate, "EndpointConfiguration.Types.0": "REGIONAL",
		})
	}
	for _, id := range s.of("AWS::ApiGateway::BasePathMapping") {
		has(t, id, s.Resources[id].Properties, map[string]any{"BasePath": "v1"})
	}
	kinds := map[any]bool{}
	for _, id := range s.of("AWS::Route53::RecordSet") {
		p := s.Resources[id].Properties
		has(t, id, p, map[string]any{"Name": "acme.example.com", "HostedZoneId": "Z0123456789ABCDEFGHIJ"})
		kinds[p["Type"]] = true
	}
	if diff := cmp.Diff(map[any]bool{"A": true, "AAAA": true}, kinds); diff != "" {
		t.Errorf("records of the domain (-want +got):\n%s", diff)
	}
	if got, want := s.Outputs["ApiUrl"].Value, "https://acme.example.com/v1"; got != want {
		t.Errorf("ApiUrl is %v, want %s", got, want)
	}
	if got := encoded(t, s.Outputs["GeneratedUrl"].Value); !strings.Contains(got, "/"+api.Stage) {
		t.Errorf("GeneratedUrl is %s, want the stage's address", got)
	}
	issuers := 0
	for _, id := range s.of("AWS::Lambda::Function") {
		variables, _ := dig(s.Resources[id].Properties, "Environment", "Variables").(map[string]any)
		if variables["ORGOPS_ISSUER"] == nil {
			continue
		}
		issuers++
		if got, want := variables["ORGOPS_ISSUER"], "https://acme.example.com/v1"; got != want {
			t.Errorf("%s: issuer %v, want %s", id, got, want)
		}
		if former := encoded(t, variables["ORGOPS_FORMER_ISSUER"]); !strings.Contains(former, ".execute-api.") {
			t.Errorf("%s: former issuer %s, want the generated address", id, former)
		}
	}
	if issuers < 5 {
		t.Errorf("%d functions have an issuer, want the authorizer and the route groups", issuers)
	}
	pool := stacks["pool"]
	if got := len(pool.of("AWS::ApiGateway::DomainName")); got != 0 {
		t.Errorf("a stack without a domain has %d, want none", got)
	}
}

func TestSettings_Domain(t *testing.T) {
	t.Parallel()
	const zone = "Z0123456789ABCDEFGHIJ"
	got, err := domain("api.example.com", certificate, zone)
	errtest.Must(t, err)
	if diff := cmp.Diff(api.Domain{Name: "api.example.com", Certificate: certificate, Zone: zone}, got); diff != "" {
		t.Errorf("domain (-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ name, certificate, zone, want string }{
		{"api.example.com", "", "", "context certificate"},
		{"", certificate, "", "context domain"},
		{"", "", zone, "context domain"},
		{"https://api.example.com", certificate, "", "context domain"},
		{"api.example.com/live", certificate, "", "the base path live is taken"},
		{"api.example.com", "arn:aws:iam::111122223333:server-certificate/a", "", "context certificate"},
		{"api.example.com", certificate, "example.com", "context zone"},
	} {
		_, err := domain(tt.name, tt.certificate, tt.zone)
		mentions(t, err, []string{tt.want})
	}
}
