package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/errtest"
)

func TestFunctions(t *testing.T) {
	t.Parallel()
	architectures := map[string]string{"pool": "arm64", "silo": "x86_64"}
	for name, s := range stacks {
		ids := s.of("AWS::Lambda::Function")
		if want := len(functionsOf(name)); len(ids) != want {
			t.Errorf("%s: %d functions, want %d", name, len(ids), want)
		}
		roles := map[string]bool{}
		for _, id := range ids {
			f := s.Resources[id].Properties
			has(t, name+" "+id, f, map[string]any{
				"TracingConfig.Mode": tracing(id), "Architectures.0": architectures[name], "Runtime": "provided.al2023", "Handler": "bootstrap",
				"LoggingConfig.LogFormat": "JSON", "LoggingConfig.SystemLogLevel": "WARN",
			})
			log := s.Resources[text(dig(f, "LoggingConfig", "LogGroup", "Ref"))]
			if days, _ := log.Properties["RetentionInDays"].(float64); days < 1 || days > 31 {
				t.Errorf("%s %s: the log is kept %v days, want 1 to 31", name, id, log.Properties["RetentionInDays"])
			}
			role := text(dig(f, "Role", "Fn::GetAtt", 0))
			if role == "" {
				t.Errorf("%s %s has no role, want one", name, id)
			}
			if roles[role] {
				t.Errorf("%s %s has another function's role %q, want its own", name, id, role)
			}
			roles[role] = true
		}
	}
}

// tracing returns the mode of the function with a logical id: those behind the gateway follow its choice. A worker has no caller
// that chooses, and X-Ray's own rate for functions cannot be set, so it is not traced.
func tracing(id string) any {
	if strings.HasPrefix(id, "Api") {
		return "Active"
	}
	return nil
}

// TestTraces checks that a rule of its own decides which of an API's requests X-Ray records.
func TestTraces(t *testing.T) {
	t.Parallel()
	for name, s := range stacks {
		rules := s.of("AWS::XRay::SamplingRule")
		if len(rules) != 1 {
			t.Errorf("%s: rules = %v, want one", name, rules)
			continue
		}
		has(t, name, s.Resources[rules[0]].Properties["SamplingRule"], map[string]any{
			"FixedRate": 0.01, "ReservoirSize": 0.0, "ServiceType": "AWS::ApiGateway::Stage", "Version": 1.0,
			"ServiceName": "*", "Host": "*", "HTTPMethod": "*", "URLPath": "*",
			"RuleName.Fn::Join.1.0": "orgops-", "RuleName.Fn::Join.1.1.Ref": s.of("AWS::ApiGateway::RestApi")[0],
			"ResourceARN.Fn::Join.1.7.Ref": s.of("AWS::ApiGateway::Stage")[0],
		})
	}
}

// TestFunctions_Programs checks that every function has a program and that every program is a function's.
func TestFunctions_Programs(t *testing.T) {
	t.Parallel()
	programs, err := filepath.Glob("../functions/*/lambda/main.go")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, program := range programs {
		got = append(got, filepath.Base(filepath.Dir(filepath.Dir(program))))
	}
	want := allFunctions()
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("programs (-functions of the stack +folders):\n%s", diff)
	}
}

// TestFunctions_Environment checks that functions get only settings that the code reads, and references to secrets instead of
// secrets.
func TestFunctions_Environment(t *testing.T) {
	t.Parallel()
	const networks = "10.1.0.0/16,fd00::/8"
	settings := source(t, "../shared/run/config")
	for _, id := range stacks["silo"].of("AWS::Lambda::Function") {
		variables := dig(stacks["silo"].Resources[id].Properties, "Environment", "Variables").(map[string]any)
		for name, value := range variables {
			if !strings.Contains(settings, `"`+name+`"`) {
				t.Errorf("%s: %s is not a setting of shared/run/config", id, name)
			}
			if literal, ok := value.(string); ok && len(literal) > 64 {
				t.Errorf("%s: %s holds %q, want a reference", id, name, literal)
			}
		}
		if got := variables["ORGOPS_ALLOW_NETWORKS"]; got != networks {
			t.Errorf("%s: networks %v, want %s", id, got, networks)
		}
		if _, pooled := stacks["pool"].Resources[id]; !pooled {
			t.Errorf("%s is a function of the silo only, want the same ids in the pool", id)
		}
	}
	if got := stacks["silo"].Outputs["AllowNetworks"].Value; got != networks {
		t.Errorf("output AllowNetworks is %v, want %s", got, networks)
	}
}

// TestAdminVariables checks that the operator's commands get the names of all resources that the functions work on.
func TestAdminVariables(t *testing.T) {
	t.Parallel()
	for name, s := range stacks {
		encoded, err := json.Marshal(s.Outputs["AdminVariables"].Value)
		if err != nil {
			t.Fatal(err)
		}
		for _, variable := range []string{
			"export ORGOPS_BACKEND=aws ", "ORGOPS_TABLE=", "ORGOPS_KEYS_TABLE=", "ORGOPS_WRAPPING_KEY=", "ORGOPS_TOKEN_KEYS=",
			"ORGOPS_SIGNING_KEYS=", "ORGOPS_USAGE_PLANS=enterprise=", "ORGOPS_RETRIES_QUEUE=", "ORGOPS_RETRIES_DEAD_LETTERS=",
			"ORGOPS_SYNCS_QUEUE=", "ORGOPS_SYNCS_DEAD_LETTERS=", "ORGOPS_FAILED_CHANGES=", "ORGOPS_FAIR_QUEUES=true",
		} {
			if !strings.Contains(string(encoded), variable) {
				t.Errorf("%s: %s is not in %s", name, variable, encoded)
			}
		}
		if former, want := strings.Contains(string(encoded), "ORGOPS_FORMER_WRAPPING_KEYS="), name == "silo"; former != want {
			t.Errorf("%s: former keys are named = %t, want %t", name, former, want)
		}
	}
}

func TestFunctions_Reserved(t *testing.T) {
	t.Parallel()
	got := map[string]any{}
	for _, id := range stacks["silo"].of("AWS::Lambda::Function") {
		if calls := stacks["silo"].Resources[id].Properties["ReservedConcurrentExecutions"]; calls != nil {
			name, _, _ := strings.Cut(id, "Function")
			got[name] = calls
		}
	}
	if diff := cmp.Diff(map[string]any{"Eventssyncer": 1.0, "Eventsdispatcher": 20.0, "Apiauth": 5.0}, got); diff != "" {
		t.Errorf("reserved calls (-want +got):\n%s", diff)
	}
}

// TestNames refuses chosen names, which may be taken already and prevent a replacement of the resource.
func TestNames(t *testing.T) {
	t.Parallel()
	chosen := []string{"FunctionName", "TableName", "QueueName", "RoleName", "LogGroupName", "AlarmName", "DashboardName", "UsagePlanName"}
	for id, r := range stacks["pool"].Resources {
		for _, property := range chosen {
			if _, ok := r.Properties[property].(string); ok && !slices.Contains([]string{"AWS::Lambda::EventSourceMapping"}, r.Type) {
				t.Errorf("%s (%s) has a %s, want none", id, r.Type, property)
			}
		}
	}
}

// source returns the text of a package's files.
func source(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	errtest.Must(t, err)
	if len(files) == 0 {
		t.Fatalf("no Go files in %s", folder)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// dig follows keys and positions into decoded JSON; it returns nil for a missing value.
func dig(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// has expects values at paths such as "TracingConfig.Mode", in which a number is a position.
func has(t *testing.T, name string, properties any, want map[string]any) {
	t.Helper()
	got := map[string]any{}
	for path := range want {
		var steps []any
		for step := range strings.SplitSeq(path, ".") {
			if position, err := strconv.Atoi(step); err == nil {
				steps = append(steps, position)
			} else {
				steps = append(steps, step)
			}
		}
		got[path] = dig(properties, steps...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// mentions expects an error with all the parts, or none if there are no parts.
func mentions(t *testing.T, err error, parts []string) {
	t.Helper()
	if len(parts) == 0 {
		errtest.Must(t, err)
	}
	for _, want := range parts {
		if got := errtest.Message(err); !strings.Contains(got, want) {
			t.Errorf("error %q, want one with %q", got, want)
		}
	}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// list returns v's elements, or v alone.
func list(v any) []any {
	if elements, ok := v.([]any); ok {
		return elements
	}
	return []any{v}
}
