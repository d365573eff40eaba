package acceptance_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestDocument_Spectral(t *testing.T) {
	t.Parallel()
	command(t, 2*time.Minute, nil, filepath.Join(nodeModules(t), ".bin/spectral"), "lint", "--fail-severity=hint", "--ruleset=testdata/spectral.yaml", goldenDocument)
}

func TestDocument_Redocly(t *testing.T) {
	t.Parallel()
	command(t, 2*time.Minute, func(cmd *exec.Cmd) {
		cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	}, filepath.Join(nodeModules(t), ".bin/redocly"), "lint", "--config=testdata/redocly.yaml", "--max-problems=1000", goldenDocument)
}
