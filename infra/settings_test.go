package main

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"

	"orgops/infra/data"
	"orgops/infra/function"
	"orgops/shared/testkit/errtest"
)

// TestSettings talks to the CDK's process, which takes one call at a time, so it does not run in parallel.
func TestSettings(t *testing.T) {
	tests := []struct {
		name    string
		context map[string]any
		want    []string // parts of the error
	}{
		{"default", nil, nil},
		{"all", map[string]any{
			"tenant": "acme-2", "arch": "arm64", "allowNetworks": "::1/128", "emulator": "true", "reserved": "auth=1", "firewall": "false", "executives": "true",
			"wrappingKey": "2", "formerWrappingKeys": "none", "queueCalls": "2", "canary": "off", "planLimits": "true", "corsOrigins": "https://a.example, http://localhost:3000",
			"applications": "arn:aws:secretsmanager:eu-central-1:111122223333:secret:orgops/applications-a1B2c3",
		}, nil},
		{"wrong", map[string]any{
			"tenant": "a/b", "arch": "mips", "allowNetworks": "10.0.0.1", "reserved": "auth", "firewall": "maybe", "emulator": "yes", "executives": "no",
			"wrappingKey": "first", "queueCalls": "1", "canary": "maybe", "planLimits": "no", "corsOrigins": "https://a.example/path", "applications": "orgops/applications",
		}, []string{"corsOrigins", "tenant", "arch", "allowNetworks", "reserved", "firewall", "emulator", "executives", "queueCalls", "canary", "planLimits", "wrappingKey", "applications"}},
		{"a key as its own former key", map[string]any{"wrappingKey": "2", "formerWrappingKeys": "2"}, []string{"formerWrappingKeys", `"2"`}},
		{"a key twice", map[string]any{"wrappingKey": "3", "formerWrappingKeys": "1,1"}, []string{"formerWrappingKeys"}},
		{"an alias", map[string]any{"formerWrappingKeys": "arn:aws:kms:eu-central-1:111122223333:alias/a"}, []string{"alias/a"}},
		{"a table without its stream", map[string]any{"mainTable": "restored"}, []string{"mainTable", "orgops admin table restore"}},
		{"a keys table's ARN", map[string]any{"keysTable": "arn:aws:dynamodb:eu-central-1:111122223333:table/keys"}, []string{"keysTable"}},
		{"reserved without calls", map[string]any{"reserved": "auth=0"}, []string{"auth=0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			app := awscdk.NewApp(&awscdk.AppProps{Context: &tt.context, Outdir: jsii.String(t.TempDir())})
			_, err := read(app.Node())
			mentions(t, err, tt.want)
		})
	}
}

// TestNetworks checks that deliveries of a stack in the cloud cannot reach the function's own sandbox.
func TestNetworks(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"", "10.1.2.3/16", "fd00::/8, 192.168.0.0/24", "169.253.0.0/16"} {
		_, err := networks(good, true)
		errtest.Must(t, err)
	}
	for _, inside := range []string{
		"127.0.0.1/32", "127.9.0.0/16", "126.0.0.0/7", "0.0.0.0/0", "0.0.0.0/32", "169.254.169.254/32", "169.254.0.0/16",
		"::1/128", "::/0", "::/128", "fe80::/64", "fe80::1/128", "::ffff:127.0.0.1/128", "::ffff:169.254.0.0/112",
	} {
		_, err := networks("10.0.0.0/8,"+inside, true)
		mentions(t, err, []string{"allowNetworks", inside, "narrower"})
		_, err = networks(inside, false) // an emulator's sandbox is this machine
		errtest.Must(t, err)
	}
}

func TestWrapping(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		number, former string
		want           data.Wrapping
	}{
		{"", "", data.Wrapping{Number: 1}},
		{"3", "", data.Wrapping{Number: 3, Former: []int{2}}},
		{"3", "none", data.Wrapping{Number: 3}},
		{"1", "2", data.Wrapping{Number: 1, Former: []int{2}}},
		{"3", "1, " + formerKey, data.Wrapping{Number: 3, Former: []int{1}, FormerARNs: []string{formerKey}}},
	} {
		got, err := wrapping(tt.number, tt.former)
		errtest.Must(t, err)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q, %q (-want +got):\n%s", tt.number, tt.former, diff)
		}
	}
}

func TestSettings_Stack(t *testing.T) {
	t.Parallel()
	for tenant, want := range map[string]string{"": "Orgops", "acme": "Orgops-acme"} {
		if got := (settings{tenant: tenant}).stack(); got != want {
			t.Errorf("stack of tenant %q is %q, want %q", tenant, got, want)
		}
	}
}

func TestSettings_Reserves(t *testing.T) {
	t.Parallel()
	s := settings{Settings: function.Settings{Reserved: map[string]float64{"auth": 1}}}
	mentions(t, s.reserves([]*function.Function{{Name: "auth"}}), nil)
	mentions(t, s.reserves([]*function.Function{{Name: "memory"}}), []string{`"auth"`})
}
