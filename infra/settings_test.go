package main

import (
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"orgops/infra/function"
)

// Tests that talk to the CDK's process do not run in parallel: it takes one call at a time.
func TestSettings(t *testing.T) {
	tests := []struct {
		name    string
		context map[string]any
		want    []string // parts of the error
	}{
		{"default", nil, nil},
		{"all", map[string]any{
			"tenant": "acme-2", "arch": "arm64", "allowNetworks": "::1/128", "reserved": "auth=1", "firewall": "false",
		}, nil},
		{"wrong", map[string]any{
			"tenant": "a/b", "arch": "mips", "allowNetworks": "10.0.0.1", "reserved": "auth", "firewall": "maybe",
		}, []string{"tenant", "arch", "allowNetworks", "reserved", "firewall"}},
		{"reserved for nobody", map[string]any{"reserved": "auth=0"}, []string{"auth=0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			app := awscdk.NewApp(&awscdk.AppProps{Context: &tt.context})
			_, err := read(app.Node())
			if (err != nil) != (tt.want != nil) {
				t.Fatalf("error: %v", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not name %s", err, part)
				}
			}
		})
	}
}

func TestSettings_Stack(t *testing.T) {
	t.Parallel()
	if got := (settings{}).stack(); got != "Orgops" {
		t.Error(got)
	}
	if got := (settings{tenant: "acme"}).stack(); got != "Orgops-acme" {
		t.Error(got)
	}
}

func TestSettings_Reserves(t *testing.T) {
	t.Parallel()
	s := settings{Settings: function.Settings{Reserved: map[string]float64{"auth": 1}}}
	if err := s.reserves([]*function.Function{{Name: "auth"}}); err != nil {
		t.Error(err)
	}
	if err := s.reserves([]*function.Function{{Name: "memory"}}); err == nil || !strings.Contains(err.Error(), `"auth"`) {
		t.Errorf("error: %v", err)
	}
}
