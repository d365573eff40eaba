package acceptance_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orgops/local/suite/servicetest"
	"orgops/shared/testkit/errtest"
)

func spectral(t *testing.T, rules, document string) []string {
	t.Helper()
	return []string{filepath.Join(nodeModules(t), ".bin/spectral"), "lint", "--fail-severity=hint", "--ruleset=testdata/" + rules, document}
}

func TestDocument_Spectral(t *testing.T) {
	t.Parallel()
	args := spectral(t, "spectral.yaml", goldenDocument)
	servicetest.Command(t, 2*time.Minute, nil, args[0], args[1:]...)
}

// TestDocument_SpectralMissesMarks removes the document's marks, which must make the rule about them fail. The rule alone is asked, because
// all the others take ten times as long.
func TestDocument_SpectralMissesMarks(t *testing.T) {
	t.Parallel()
	if rules, err := os.ReadFile("testdata/spectral.yaml"); !bytes.Contains(rules, []byte("./marks.yaml")) {
		t.Errorf("spectral.yaml (%v) does not have the rule of marks.yaml", err)
	}
	golden, err := os.ReadFile(goldenDocument)
	errtest.Must(t, err)
	unmarked := filepath.Join(t.TempDir(), "openapi.json")
	errtest.Must(t, os.WriteFile(unmarked, bytes.ReplaceAll(golden, []byte(`"x-open-detail"`), []byte(`"x-other"`)), 0o600))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	args := spectral(t, "marks.yaml", unmarked)
	output, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err == nil {
		t.Error("a document without marks passes")
	}
	for _, operation := range []string{"/healthz.get", "integrations/{provider}.delete", "integrations/{provider}/test.post"} {
		if !strings.Contains(string(output), operation) {
			t.Errorf("%s passes without its mark:\n%s", operation, output)
		}
	}
	for line := range strings.Lines(string(output)) {
		for _, shown := range []string{"integrations/{provider}.post", "/auth/login.post"} {
			if strings.HasSuffix(strings.TrimSpace(line), shown) {
				t.Errorf("the contract shows this operation, but the rule fails: %s", line)
			}
		}
	}
}

func TestDocument_Redocly(t *testing.T) {
	t.Parallel()
	servicetest.Command(t, 2*time.Minute, func(cmd *exec.Cmd) {
		cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	}, filepath.Join(nodeModules(t), ".bin/redocly"), "lint", "--config=testdata/redocly.yaml", goldenDocument)
}
