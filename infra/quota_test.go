package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/errtest"
)

// quota holds a limit of AWS on something that grows with what we build, and how to compute our figure from a template.
type quota struct {
	about  string
	limit  int
	figure func(*synthesized) int
}

// quotas returns AWS's default limits, of which some can be raised. Those of an account or a Region are shared by all stacks in it.
func quotas() []quota {
	return []quota{
		{"CloudFormation: resources of a stack", 500, func(s *synthesized) int { return len(s.Resources) }},
		{"CloudFormation: bytes of a template", 1_000_000, func(s *synthesized) int { return len(s.text) }},
		{"CloudFormation: outputs of a stack", 200, func(s *synthesized) int { return len(s.Outputs) }},
		{"API Gateway: bytes of an imported document", 6_000_000, func(s *synthesized) int { return s.size(s.body()) }},
		{"API Gateway: resources of an API", 300, (*synthesized).steps},
		{"API Gateway: values in one update of a stage", 80, (*synthesized).stageValues},
		{"API Gateway: variables of a stage", 100, func(s *synthesized) int { return len(members(dig(s.stage(), "Variables"))) }},
		{"API Gateway: usage plans of a Region", 300, count("AWS::ApiGateway::UsagePlan")},
		{"API Gateway: Regional APIs of a Region", 600, count("AWS::ApiGateway::RestApi")},
		{"DynamoDB: tables of a Region", 2_500, count("AWS::DynamoDB::Table")},
		{"IAM: bytes of a role's own policies", 10_240, (*synthesized).rolePolicies},
		{"IAM: roles of an account", 1_000, count("AWS::IAM::Role")},
		{"Lambda: bytes of a function's environment", 4_096, longest("AWS::Lambda::Function", "Environment", "Variables")},
		{"Lambda: bytes of a function's policy of callers", 20_480, (*synthesized).callers},
		{"Lambda: bytes of a function's description", 256, longest("AWS::Lambda::Function", "Description")},
		{"Lambda: bytes of a filter of a stream", 4_096, (*synthesized).filter},
		{"Lambda: concurrent calls of an account, which the queues make", 1_000, (*synthesized).queueCalls},
		{"CloudWatch: alarms of a Region", 5_000, count("AWS::CloudWatch::Alarm")},
		{"CloudWatch: alarms in a dashboard's list", 100, count("AWS::CloudWatch::Alarm")},
		{"CloudWatch: bytes of an alarm's description", 1_024, longest("AWS::CloudWatch::Alarm", "AlarmDescription")},
		{"EventBridge: rules of a bus", 300, count("AWS::Events::Rule")},
		{"KMS: keys of a Region", 100_000, count("AWS::KMS::Key")},
		{"X-Ray: sampling rules of a Region", 25, count("AWS::XRay::SamplingRule")},
	}
}

// bounds returns AWS's limits on settings that we choose and that nothing we build makes larger. A figure of ours may reach its limit.
func bounds() []quota {
	return []quota{
		{"API Gateway: milliseconds for an answer", 29_000, func(s *synthesized) (most int) {
			for _, m := range s.methods() {
				most = max(most, number(dig(m, "x-amazon-apigateway-integration", "timeoutInMillis")))
			}
			return most
		}},
		{"API Gateway: seconds for which an authorizer's answer is kept", 3_600, func(s *synthesized) int {
			return number(dig(s.body(), "components", "securitySchemes", "tokens", "x-amazon-apigateway-authorizer", "authorizerResultTtlInSeconds"))
		}},
		{"DynamoDB: readers of a stream's shard", 2, (*synthesized).readers},
		{"Lambda: filters of a reader of the stream", 5, (*synthesized).filters},
		{"Lambda: records in a batch of the stream", 10_000, highest("AWS::Lambda::EventSourceMapping", "BatchSize")},
		{"Lambda: batches of a shard at once", 10, highest("AWS::Lambda::EventSourceMapping", "ParallelizationFactor")},
		{"Lambda: seconds of a tumbling window", 900, highest("AWS::Lambda::EventSourceMapping", "TumblingWindowInSeconds")},
		{"DynamoDB: seconds for which the stream has a record", 86_400, highest("AWS::Lambda::EventSourceMapping", "MaximumRecordAgeInSeconds")},
		{"Lambda: seconds of a call", 900, highest("AWS::Lambda::Function", "Timeout")},
		{"SQS: seconds for which a received message is hidden", 43_200, highest("AWS::SQS::Queue", "VisibilityTimeout")},
		{"SQS: seconds for which a message is kept", 1_209_600, highest("AWS::SQS::Queue", "MessageRetentionPeriod")},
		{"SQS: messages of a queue in flight", 120_000, (*synthesized).inFlight},
		{"SQS: receipts of a message before it is dead", 1_000, highest("AWS::SQS::Queue", "RedrivePolicy", "maxReceiveCount")},
	}
}

// TestGolden_Quotas fails when a figure that grows with what we build exceeds 80 % of AWS's limit, or a setting exceeds its limit, and compares
// the figures with the emulator's README.
func TestGolden_Quotas(t *testing.T) {
	t.Parallel()
	compared(t, "quotas", figures(t, quotas(), func(limit int) int { return limit * 4 / 5 }))
	compared(t, "bounds", figures(t, bounds(), func(limit int) int { return limit }))
}

// figures returns a table of our figures: of each the largest of all stacks, which must be at most what allowed says.
func figures(t *testing.T, all []quota, allowed func(limit int) int) string {
	t.Helper()
	table := "| limit | AWS | ours |\n|---|---|---|\n"
	for _, q := range all {
		most := 0
		for _, s := range stacks {
			most = max(most, q.figure(s))
		}
		if most < 1 || most > allowed(q.limit) {
			t.Errorf("%s: %d, want at least 1 and at most %d of %d", q.about, most, allowed(q.limit), q.limit)
		}
		if strings.Contains(q.about, "bytes") { // not every change of a text changes the README
			most = roundedUp(most)
		}
		table += fmt.Sprintf("| %s | %s | %s |\n", q.about, grouped(q.limit), grouped(most))
	}
	return table
}

// compared compares a table with the part of a name in the emulator's README, or writes it there.
func compared(t *testing.T, name, table string) {
	t.Helper()
	const file = "../local/suite/cloud/README.md"
	begin, end := "<!-- "+name+": written by make golden -->\n", "<!-- end of "+name+" -->\n"
	text, err := os.ReadFile(file)
	errtest.Must(t, err)
	before, rest, begins := strings.Cut(string(text), begin)
	got, after, ends := strings.Cut(rest, end)
	if !begins {
		t.Fatalf("%s lacks the line %q", file, begin)
	}
	if !ends {
		t.Fatalf("%s lacks the line %q after %q", file, end, begin)
	}
	want := "\n" + table + "\n"
	if *update {
		errtest.Must(t, os.WriteFile(file, []byte(before+begin+want+end+after), 0o600))
		return
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("%s: run make golden (-file +now):\n%s", file, diff)
	}
}

// highest returns the largest number at a path in the properties of a type's resources.
func highest(kind string, path ...any) func(*synthesized) int {
	return func(s *synthesized) (most int) {
		for _, id := range s.of(kind) {
			most = max(most, number(dig(s.Resources[id].Properties, path...)))
		}
		return most
	}
}

// queueCalls returns how many calls all queues make of their workers at most.
func (s *synthesized) queueCalls() (n int) {
	for _, id := range s.of("AWS::Lambda::EventSourceMapping") {
		n += number(dig(s.Resources[id].Properties, "ScalingConfig", "MaximumConcurrency"))
	}
	return n
}

// inFlight returns how many messages the worker of a queue has at most.
func (s *synthesized) inFlight() (most int) {
	for _, id := range s.of("AWS::Lambda::EventSourceMapping") {
		p := s.Resources[id].Properties
		most = max(most, number(p["BatchSize"])*number(dig(p, "ScalingConfig", "MaximumConcurrency")))
	}
	return most
}

func number(v any) int {
	n, _ := v.(float64)
	return int(n)
}

// readers counts the functions that read the table's stream. Every shard has all of them.
func (s *synthesized) readers() (n int) {
	for _, id := range s.of("AWS::Lambda::EventSourceMapping") {
		if s.Resources[id].Properties["StartingPosition"] != nil {
			n++
		}
	}
	return n
}

func (s *synthesized) filters() (most int) {
	for _, id := range s.of("AWS::Lambda::EventSourceMapping") {
		if filters, ok := dig(s.Resources[id].Properties, "FilterCriteria", "Filters").([]any); ok {
			most = max(most, len(filters))
		}
	}
	return most
}

func count(kind string) func(*synthesized) int {
	return func(s *synthesized) int { return len(s.of(kind)) }
}

// longest returns the size of the largest value at a path in the properties of a type's resources.
func longest(kind string, path ...any) func(*synthesized) int {
	return func(s *synthesized) (most int) {
		for _, id := range s.of(kind) {
			most = max(most, s.size(dig(s.Resources[id].Properties, path...)))
		}
		return most
	}
}

// size returns how many bytes a value has as JSON, or as text, once the names that AWS chooses are filled in.
func (s *synthesized) size(v any) int {
	filled := s.filled(v)
	if text, ok := filled.(string); ok {
		return len(text)
	}
	encoded, err := json.Marshal(filled)
	if err != nil { // cannot happen: decoded JSON
		panic(err)
	}
	return len(encoded)
}

// filled replaces references by texts that are as long as the names that AWS chooses can be.
func (s *synthesized) filled(v any) any {
	const arn = len("arn:aws:dynamodb:ap-southeast-2:123456789012:table//stream/2026-11-25T00:00:00.000") // the longest kind here
	switch v := v.(type) {
	case []any:
		all := make([]any, len(v))
		for i, element := range v {
			all[i] = s.filled(element)
		}
		return all
	case map[string]any:
		if name, ok := v["Ref"].(string); ok {
			if strings.HasPrefix(name, "AWS::") {
				return strings.Repeat("x", len("ap-southeast-2"))
			}
			return strings.Repeat("x", arn+len("Orgops-acme-")+len(name)+len("-0123456789AB"))
		}
		if name := text(dig(v, "Fn::GetAtt", 0)); name != "" {
			return strings.Repeat("x", arn+len("Orgops-acme-")+len(name)+len("-0123456789AB"))
		}
		if joined, ok := dig(v, "Fn::Join", 1).([]any); ok {
			var all strings.Builder
			for _, part := range joined {
				all.WriteString(text(s.filled(part)))
			}
			return all.String()
		}
		all := map[string]any{}
		for name, member := range v {
			all[name] = s.filled(member)
		}
		return all
	}
	return v
}

func (s *synthesized) stage() map[string]any {
	return s.Resources[s.of("AWS::ApiGateway::Stage")[0]].Properties
}

// steps counts the API's resources: each step of a path is one, and the root is one.
func (s *synthesized) steps() int {
	steps := map[string]bool{"": true}
	for path := range members(s.body()["paths"]) {
		for at := range len(path) {
			if path[at] == '/' {
				steps[path[:at]] = true
			}
		}
		steps[path] = true
	}
	return len(steps)
}

// stageValues counts the values that CloudFormation could send in one UpdateStage.
func (s *synthesized) stageValues() (n int) {
	for name, value := range s.stage() {
		switch name {
		case "RestApiId", "StageName", "Tags": // name the stage; tags have a request of their own
		case "MethodSettings":
			for _, setting := range list(value) {
				n += len(members(setting)) - len([]string{"HttpMethod", "ResourcePath"})
			}
		case "Variables", "AccessLogSetting":
			n += len(members(value))
		default:
			n++
		}
	}
	return n
}

// rolePolicies returns the size of the policies of the role that has most.
func (s *synthesized) rolePolicies() int {
	sizes := map[string]int{}
	for _, id := range s.of("AWS::IAM::Policy") {
		p := s.Resources[id].Properties
		for _, role := range list(p["Roles"]) {
			sizes[text(dig(role, "Ref"))] += s.size(p["PolicyDocument"])
		}
	}
	return largest(sizes)
}

// callers returns the size of the largest policy that says who may call a function. Lambda makes a statement of each permission.
func (s *synthesized) callers() int {
	const statement = len(`{"Sid":"","Effect":"Allow","Principal":{"Service":""},"Condition":{"ArnLike":{"AWS:SourceArn":""}}},`)
	sizes := map[string]int{}
	for _, id := range s.of("AWS::Lambda::Permission") {
		p := s.Resources[id].Properties
		sizes[fmt.Sprint(p["FunctionName"])] += statement + s.size(p) // of a function or of an alias, which has a policy of its own
	}
	return largest(sizes)
}

func (s *synthesized) filter() (most int) {
	for _, id := range s.of("AWS::Lambda::EventSourceMapping") {
		for _, filter := range list(dig(s.Resources[id].Properties, "FilterCriteria", "Filters")) {
			most = max(most, len(text(dig(filter, "Pattern"))))
		}
	}
	return most
}

func members(v any) map[string]any {
	object, _ := v.(map[string]any)
	return object
}

func largest(sizes map[string]int) int {
	return slices.Max(slices.Collect(maps.Values(sizes)))
}

// roundedUp returns the next number with at most two digits that are not zero.
func roundedUp(n int) int {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit - 1) / unit * unit
}

// grouped writes a number with a comma between thousands.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
