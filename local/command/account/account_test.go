package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"orgops/shared/testkit/errtest"
)

// plain is the template of a stack without options: two queues of 100 calls and a stage of 1,000 requests a second.
const plain = `
	"Role": {"Type": "AWS::IAM::Role"}, "Main": {"Type": "AWS::DynamoDB::Table"}, "Trace": {"Type": "AWS::XRay::SamplingRule"},
	"Retries": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"ScalingConfig": {"MaximumConcurrency": 100}}},
	"Syncs": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"ScalingConfig": {"MaximumConcurrency": 100}}},
	"Changes": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"BatchSize": 100}},
	"Stage": {"Type": "AWS::ApiGateway::Stage", "Properties": {"MethodSettings": [{"ThrottlingRateLimit": 100}, {"ThrottlingRateLimit": 1000}]}}`

// app writes a synthesized app with these resources.
func app(t *testing.T, resources string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		errtest.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("manifest.json", `{"artifacts": {"Orgops.assets": {"type": "cdk:asset-manifest"},
		"Orgops": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "Orgops.template.json"}}}}`)
	write("Orgops.template.json", `{"Resources": {`+resources+`}}`)
	return dir
}

// check runs the command against a fake account.
func check(t *testing.T, f *fake, resources string, args ...string) (string, error) {
	t.Helper()
	env := map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL": f.serve(t),
	}
	var out strings.Builder
	err := run(t.Context(), append([]string{"--app", app(t, resources)}, args...), func(name string) string { return env[name] }, &out)
	return out.String(), err
}

func TestAccount_Fits(t *testing.T) {
	t.Parallel()
	out, err := check(t, established(), plain)
	if err != nil {
		t.Errorf("an established account: %v, want none\n%s", err, out)
	}
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, string(fits)+" ") {
			t.Errorf("%q, want that everything fits", line)
		}
	}
	for _, about := range []string{"concurrent calls", "stored programs", "requests a second", "API keys", "IAM roles", "sampling rules", "DynamoDB tables"} {
		if !strings.Contains(out, about) {
			t.Errorf("no line about %s:\n%s", about, out)
		}
	}
	if strings.Contains(out, "VPC") {
		t.Errorf("a line about VPCs, of which the stack has none:\n%s", out)
	}
}

const vpc = plain + `, "Vpc": {"Type": "AWS::EC2::VPC"}, "Ip1": {"Type": "AWS::EC2::EIP"}, "Ip2": {"Type": "AWS::EC2::EIP"}`

func TestAccount_Verdicts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		account   func(*fake)
		resources string
		args      []string
		want      string // a line
		refused   bool
	}{
		{name: "a new account has 10 calls", account: func(f *fake) { f.calls, f.unreserved = 10, 10 }, resources: plain,
			want: `tight +Lambda: concurrent calls .*100 of 10,.*-c queueCalls=2, or aws service-quotas .*lambda.*L-B99A9384 --desired-value 1000`},
		{name: "a new account reserves nothing", account: func(f *fake) { f.calls, f.unreserved = 10, 10 }, refused: true,
			resources: plain + `, "F": {"Type": "AWS::Lambda::Function", "Properties": {"ReservedConcurrentExecutions": 5}}`,
			want:      `does not fit +Lambda: concurrent calls .*reserve 5 of 10`},
		{name: "others have reserved", account: func(f *fake) { f.unreserved = 110 }, refused: true,
			resources: plain + `, "F": {"Type": "AWS::Lambda::Function", "Properties": {"ReservedConcurrentExecutions": 20}}`,
			want:      `does not fit +Lambda: concurrent calls .*reserve 20 of 110`},
		{name: "an update keeps its reserve", account: func(f *fake) {
			f.unreserved, f.deployed = 110, []string{"AWS::Lambda::Function", "AWS::DynamoDB::Table"}
		},
			resources: plain + `, "F": {"Type": "AWS::Lambda::Function", "Properties": {"ReservedConcurrentExecutions": 890}}`,
			want:      `fits +Lambda: concurrent calls`},
		{name: "old versions", account: func(f *fake) { f.codeUsed = f.code - 1<<20 }, resources: plain, want: `tight +Lambda: stored programs .*L-2ACBD22F --desired-value 150`},
		{name: "a small region", account: func(f *fake) { f.rate = 500 }, resources: plain,
			want: `tight +API Gateway: requests a second .*admits 1000.* 500 .*L-8A5B8E43 --desired-value 1000`},
		{name: "many keys", account: func(f *fake) { f.keys = 8_400 }, resources: plain, want: `tight +API Gateway: API keys .*8400 of 10000.*another region or account`},
		{name: "no key left", account: func(f *fake) { f.keys = 10_000 }, resources: plain, refused: true, want: `does not fit +API Gateway: API keys .*10000 of 10000`},
		{name: "the addresses are used", account: func(f *fake) { f.has["AWS::EC2::EIP"] = 4 }, resources: vpc, refused: true,
			want: `does not fit +Elastic IP addresses .*4 of 5 .*adds 2: leave out -c egress=fixed, or aws service-quotas .*ec2 --quota-code L-0263D0A3 --desired-value 6`},
		{name: "the deployed stack has its addresses", resources: vpc, want: `fits +Elastic IP addresses .*5 of 5 are used, and the stack adds 0`, account: func(f *fake) {
			f.has["AWS::EC2::EIP"], f.deployed = 5, []string{"AWS::EC2::EIP", "AWS::EC2::EIP", "AWS::EC2::VPC", "AWS::DynamoDB::Table"}
		}},
		{name: "a granted quota", resources: vpc, want: `fits +VPCs .*40 of 50`, account: func(f *fake) { f.has["AWS::EC2::VPC"], f.quotas["L-F678F1CE"] = 40, 50 }},
		{name: "many pages", resources: plain, refused: true, want: `does not fit +IAM roles .*1000 of 1000 .*iam`, account: func(f *fake) { f.has["AWS::IAM::Role"] = 1000 }},
		{name: "a quota that AWS does not publish", resources: plain, refused: true, want: `does not fit +X-Ray sampling rules .*25 of 25 .*another account`,
			account: func(f *fake) { f.has["AWS::XRay::SamplingRule"] = 25 }},
		{name: "WAF", resources: plain + `, "Firewall": {"Type": "AWS::WAFv2::WebACL"}`, refused: true,
			want: `does not fit +WAF web ACLs .*100 of 100 .*leave out -c firewall=true`, account: func(f *fake) { f.has["AWS::WAFv2::WebACL"] = 100 }},
		{name: "a missing right", account: func(f *fake) { f.denied = "GetServiceQuota" }, resources: plain, want: `unknown +IAM roles +AccessDeniedException;`},
		{name: "a forgotten restored table", account: func(f *fake) { f.deployed = []string{"AWS::IAM::Role"} }, resources: plain, refused: true,
			want: `does not fit +restored tables .*repeat -c mainTable and -c keysTable`},
		{name: "after a first deployment that failed", resources: plain, want: `fits +DynamoDB tables .*adds 1`,
			account: func(f *fake) { f.deployed, f.status = []string{"AWS::IAM::Role"}, "DELETE_COMPLETE" }},
		{name: "after a change set alone", resources: plain, want: `fits +DynamoDB tables .*adds 1`, account: func(f *fake) { f.deployed = []string{} }},
		{name: "anyway", account: func(f *fake) { f.keys = 10_000 }, resources: plain, args: []string{"--anyway"}, want: `does not fit +API Gateway: API keys`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := established()
			tt.account(f)
			out, err := check(t, f, tt.resources, tt.args...)
			if !regexp.MustCompile(`(?m)^` + tt.want).MatchString(out) {
				t.Errorf("no line matches %s:\n%s", tt.want, out)
			}
			if got := errors.Is(err, errTooSmall); got != tt.refused {
				t.Errorf("refused %t (%v), want %t", got, err, tt.refused)
			}
			if strings.Contains(out, "secret-name") {
				t.Errorf("the output quotes AWS's message:\n%s", out)
			}
		})
	}
}

func TestAccount_StackUnreadable(t *testing.T) {
	t.Parallel()
	f := established()
	f.denied = "ListStackResources"
	out, err := check(t, f, plain)
	if err != nil {
		t.Errorf("without the right to read the stack: %v, want no refusal", err)
	}
	if !strings.Contains(out, "the deployed stack") {
		t.Errorf("without the right to read the stack: %q, want a line about it", out)
	}
}

func TestAccount_NotSynthesized(t *testing.T) {
	t.Parallel()
	err := run(t.Context(), []string{"--app", t.TempDir()}, func(string) string { return "" }, &strings.Builder{})
	if got := errtest.Message(err); !strings.Contains(got, "run make synth") {
		t.Errorf("error %q, want one that says to run make synth", got)
	}
}
