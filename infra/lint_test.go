package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestLint validates the templates with two external tools. With --lint, sam would run cfn-lint again, in place of its own checks.
func TestLint(t *testing.T) {
	t.Parallel()
	for name, s := range stacks {
		for tool, args := range map[string][]string{
			"cfn-lint": {s.file, "--regions", "us-east-1", "eu-central-1"},
			"sam":      {"validate", "--template", s.file, "--region", "eu-central-1"},
		} {
			t.Run(tool+" "+name, func(t *testing.T) {
				t.Parallel()
				program, err := filepath.Abs(filepath.Join("../.tools/templates/bin", tool))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(program); err != nil {
					t.Fatalf("%s is not installed: run make tools", tool)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // alone they take seconds
				defer cancel()
				cmd := exec.CommandContext(ctx, program, args...)
				cmd.Env = append(os.Environ(), "SAM_CLI_TELEMETRY=0", "HOME="+t.TempDir(), "AWS_EC2_METADATA_DISABLED=true")
				if output, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, output)
				}
			})
		}
	}
}
