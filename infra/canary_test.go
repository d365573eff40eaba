package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"orgops/functions"
	"orgops/shared/testkit/errtest"
)

// TestCanary checks that the gateway calls each route group of the silo by an alias, which a deployment moves in steps that the
// function's alarm ends. The pool has neither.
func TestCanary(t *testing.T) {
	t.Parallel()
	s := stacks["silo"]
	aliases := s.of("AWS::Lambda::Alias")
	if got, want := len(aliases), len(functions.Groups(functions.Executives)); got != want {
		t.Errorf("%d aliases, want %d: one for each route group", got, want)
	}
	for _, id := range aliases {
		has(t, id, s.Resources[id].Properties, map[string]any{"Name": "live"})
		if s.Resources[id].UpdatePolicy["CodeDeployLambdaAliasUpdate"] == nil {
			t.Errorf("%s moves at once, want it moved by CodeDeploy", id)
		}
	}
	groups := s.of("AWS::CodeDeploy::DeploymentGroup")
	if len(groups) != len(aliases) {
		t.Errorf("%d deployment groups, want one for each of %d aliases", len(groups), len(aliases))
	}
	for _, id := range groups {
		p := s.Resources[id].Properties
		has(t, id, p, map[string]any{
			"DeploymentConfigName": "CodeDeployDefault.LambdaCanary10Percent5Minutes", "AlarmConfiguration.Enabled": true, "AutoRollbackConfiguration.Enabled": true,
		})
		name := strings.TrimPrefix(id, "WatchCanary")[:3]
		if alarm := encoded(t, dig(p, "AlarmConfiguration", "Alarms", 0, "Name")); !strings.Contains(alarm, "WatchErrors"+name) {
			t.Errorf("%s is ended by the alarm %s, want that of its function", id, alarm)
		}
	}
	for _, id := range s.of("AWS::ApiGateway::Stage") {
		variables := s.Resources[id].Properties["Variables"].(map[string]any)
		for name, value := range variables {
			if got, want := strings.Contains(encoded(t, value), ":live"), name != "authorizer"; got != want {
				t.Errorf("the gateway calls %s by its alias: %t, want %t", name, got, want)
			}
		}
		for _, alias := range aliases {
			if !slices.Contains(s.Resources[id].DependsOn, alias) {
				t.Errorf("the stage does not wait for %s", alias)
			}
		}
	}
	if got := len(stacks["pool"].of("AWS::Lambda::Alias")); got != 0 {
		t.Errorf("a stack without a canary has %d aliases, want none", got)
	}
}

// TestCanary_Documented checks that the README tells how many resources a canary adds to those of the pool: an alias, a version and a deployment
// group for each route group, and an application with its role. The alias has the permission that the function had.
func TestCanary_Documented(t *testing.T) {
	t.Parallel()
	adds := 0
	for _, kind := range []string{"AWS::Lambda::Alias", "AWS::Lambda::Version", "AWS::CodeDeploy::DeploymentGroup"} {
		if got, want := len(stacks["silo"].of(kind)), len(functions.Groups(functions.Executives)); got != want {
			t.Errorf("%d resources %s, want %d", got, kind, want)
		}
		adds += len(functions.Groups())
	}
	adds += len(stacks["silo"].of("AWS::CodeDeploy::Application"))
	for _, id := range stacks["silo"].of("AWS::IAM::Role") {
		if strings.Contains(id, "WatchCanary") {
			adds++
		}
	}
	all := len(stacks["pool"].Resources) + adds
	readme, err := os.ReadFile("README.md")
	errtest.Must(t, err)
	flat := strings.Join(strings.Fields(string(readme)), " ")
	for _, want := range []string{fmt.Sprintf("it adds %d resources", adds), fmt.Sprintf("has %d of", all), fmt.Sprintf("have %d.", all+3)} {
		if !strings.Contains(flat, want) {
			t.Errorf("README.md does not say %q, want the numbers of the template", want)
		}
	}
}
