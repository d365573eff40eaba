package main

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
	"github.com/google/go-cmp/cmp"

	"orgops/functions"
	"orgops/infra/api"
)

var update = flag.Bool("update", false, "rewrite the golden template")

// functionsOf lists the functions of a stack. The silo's context leaves the executives out.
func functionsOf(stack string) []string {
	return slices.DeleteFunc(allFunctions(), func(name string) bool { return stack == "silo" && name == functions.Executives })
}

// allFunctions lists the functions of a stack that leaves none out: the folders that make build fills.
func allFunctions() []string {
	groups, err := api.Groups()
	if err != nil {
		panic(err)
	}
	return functionNames(groups)
}

// synthesized holds a stack's template as CloudFormation receives it.
type synthesized struct {
	file      string
	text      []byte
	Resources map[string]resource
	Outputs   map[string]struct{ Value any }
	findings  []string // of cdk-nag
	protected bool     // against its removal
}

type resource struct {
	Type         string
	Properties   map[string]any
	DependsOn    []string
	UpdatePolicy map[string]any
	Metadata     map[string]any

	DeletionPolicy, UpdateReplacePolicy string
}

// stacks holds the stacks, which are synthesized once because a single Node process serves one call at a time.
var stacks = map[string]*synthesized{}

// fewer is the stack of the pool without the routes of the executives.
var fewer *synthesized

const (
	formerKey   = "arn:aws:kms:eu-central-1:111122223333:key/0b6b8f0e-7a7f-4a64-9f0e-1d6a3b7c8e90"
	certificate = "arn:aws:acm:eu-central-1:111122223333:certificate/0b6b8f0e-7a7f-4a64-9f0e-1d6a3b7c8e90"
	alarmTopic  = "arn:aws:sns:eu-central-1:111122223333:alarms"
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := func() int {
		folder, err := os.MkdirTemp("", "infra")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(folder)
		defer jsii.Close()
		stacks["pool"] = synthesize(folder, nil)
		fewer = synthesize(filepath.Join(folder, "without"), map[string]string{"executives": "false"})
		stacks["silo"] = synthesize(folder, map[string]string{
			"tenant": "acme", "arch": "x86_64", "allowNetworks": "10.1.2.3/16, fd00::/8", "reserved": "dispatcher=20,auth=5,syncer=1", "queueCalls": "50", "canary": "on",
			"domain": "acme.example.com/v1", "certificate": certificate, "zone": "Z0123456789ABCDEFGHIJ",
			"wrappingKey": "3", "formerWrappingKeys": "1," + formerKey, "firewall": "true", "egress": "fixed", "executives": "false", "corsOrigins": "https://app.example.com", "alarmTopic": alarmTopic, "budget": "150",
			"mailFrom": "Acme <orgops@acme.example.com>",
		})
		return m.Run()
	}()
	os.Exit(code)
}

// synthesize makes the template that the CDK's command line would make, with the context of cdk.json and cdk-nag's rules.
// Placeholders replace the binaries, so that the golden file does not depend on a build.
func synthesize(folder string, context map[string]string) *synthesized {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	assets := filepath.Join(folder, "build")
	for _, name := range allFunctions() {
		must(os.MkdirAll(filepath.Join(assets, name), 0o755))
		must(os.WriteFile(filepath.Join(assets, name, "bootstrap"), []byte("a placeholder for "+name+"\n"), 0o755))
	}
	settings := map[string]any{"assets": assets}
	text, err := os.ReadFile("../cdk.json")
	must(err)
	var file struct{ Context map[string]any }
	must(json.Unmarshal(text, &file))
	maps.Copy(settings, file.Context)
	for name, value := range context {
		settings[name] = value
	}
	app := awscdk.NewApp(&awscdk.AppProps{
		AnalyticsReporting: jsii.Bool(false), Context: &settings, Outdir: jsii.String(filepath.Join(folder, "out", context["tenant"])),
	})
	stack, err := compose(app)
	must(err)
	awscdk.Aspects_Of(stack).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Verbose: jsii.Bool(true)}), nil)
	artifact := app.Synth(nil).GetStackByName(stack.StackName())
	s := &synthesized{file: *artifact.TemplateFullPath(), protected: *artifact.TerminationProtection()}
	s.text, err = os.ReadFile(s.file)
	must(err)
	must(json.Unmarshal(s.text, s))
	text, err = os.ReadFile(strings.TrimSuffix(s.file, ".template.json") + ".metadata.json")
	must(err)
	var metadata map[string][]struct {
		Type string
		Data any
	}
	must(json.Unmarshal(text, &metadata))
	for id, entries := range metadata {
		for _, entry := range entries {
			text := messageText(entry.Data)
			if !slices.Contains(messageTypes, entry.Type) || strings.HasPrefix(text, "Number of resources:") { // TestResources sets the limit
				continue
			}
			s.findings = append(s.findings, id+": "+text)
		}
	}
	return s
}

// messageTypes are the types of metadata that are messages.
var messageTypes = []string{"aws:cdk:info", "aws:cdk:warning", "aws:cdk:error"}

func messageText(data any) string {
	if text, ok := data.(string); ok {
		return text
	}
	return "a message that is not text"
}

// of returns the logical ids of a type's resources, in order.
func (s *synthesized) of(kind string) []string {
	var ids []string
	for id, r := range s.Resources {
		if r.Type == kind {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func TestGolden(t *testing.T) {
	golden := filepath.Join("testdata", "Orgops.template.json")
	got := stacks["pool"].text
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("the template has changed (-golden +now); if this is intended, run make golden:\n%s", diff)
	}
}

// TestNag checks that every AwsSolutions rule holds or has an exception with a reason.
func TestNag(t *testing.T) {
	for name, s := range stacks {
		for _, finding := range s.findings {
			t.Errorf("%s: %s", name, finding)
		}
	}
}

// TestResources keeps room in the stack for what a context adds: aliases, a domain, a network. Paths and methods of the API take no
// resources. TestGolden_Quotas compares the largest stack with AWS's limit.
func TestResources(t *testing.T) {
	t.Parallel()
	const most = 200
	if got := len(stacks["pool"].Resources); got > most {
		t.Errorf("the pool has %d resources, want at most %d: move a part into a nested stack", got, most)
	}
}
