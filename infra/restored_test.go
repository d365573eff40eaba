package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"

	"orgops/infra/data"
	"orgops/shared/testkit/errtest"
)

// TestRestored points a stack at restored tables. It talks to the CDK's process, so it does not run in parallel.
func TestRestored(t *testing.T) {
	const stream = "arn:aws:dynamodb:eu-central-1:111122223333:table/restored/stream/2026-11-25T19:00:00.000"
	app := awscdk.NewApp(&awscdk.AppProps{
		Outdir: jsii.String(t.TempDir()), AnalyticsReporting: jsii.Bool(false), Context: &map[string]any{"mainTable": stream, "keysTable": "keys-2"},
	})
	s, err := read(app.Node())
	errtest.Must(t, err)
	if diff := cmp.Diff(data.Restored{MainStream: stream, Keys: "keys-2"}, s.restored); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	stack := awscdk.NewStack(app, jsii.String("S"), nil)
	d := data.New(stack, s.wrapping, s.restored)
	variables := map[string]string{}
	for _, v := range d.Variables() {
		variables[v[0]] = v[1]
	}
	for name, want := range map[string]string{"ORGOPS_TABLE": "restored", "ORGOPS_KEYS_TABLE": "keys-2"} {
		if got := variables[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := *d.Main.TableStreamArn(); got != stream {
		t.Errorf("the stream is %q, want %q", got, stream)
	}
	text, err := os.ReadFile(*app.Synth(nil).GetStackByName(jsii.String("S")).TemplateFullPath())
	errtest.Must(t, err)
	var template struct{ Resources map[string]resource }
	errtest.Must(t, json.Unmarshal(text, &template))
	kinds := map[string]int{}
	for _, r := range template.Resources {
		kinds[r.Type]++
	}
	if diff := cmp.Diff(map[string]int{"AWS::KMS::Key": 2, "AWS::SecretsManager::Secret": 2}, kinds); diff != "" {
		t.Errorf("the stack's resources (-want +got):\n%s", diff)
	}
}
