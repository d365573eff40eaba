package assessment_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/testkit/errtest"
)

// TestGolden compares every body of three contexts with testdata: of a new company, and of two companies in a random state.
// With -update it writes them.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]projection.Context{"new": newCompany().Context, "calm": arbitrary(11).Context, "troubled": arbitrary(5).Context} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bodies := map[string]any{
				"health": assessment.HealthOf(p, noon(), path), "readiness": assessment.ReadinessOf(p, noon(), path),
				"dashboard": assessment.DashboardOf(p, noon(), path), "recommendations": assessment.Recommendations(p, noon(), path),
				"brief": assessment.BriefOf(p, noon(), noon().Add(-day), p.Timeline, path),
			}
			got, err := json.MarshalIndent(bodies, "", " ")
			errtest.Must(t, err)
			file := filepath.Join("testdata", name+".golden.json")
			if flag.Lookup("update").Value.String() == "true" {
				wantRaised(t, file, got)
				errtest.Must(t, os.WriteFile(file, append(got, '\n'), 0o600))
			}
			want, err := os.ReadFile(file)
			errtest.Must(t, err)
			if diff := cmp.Diff(string(bytes.TrimSpace(want)), string(got)); diff != "" {
				t.Errorf("bodies differ; run with -update (-want +got):\n%s", diff)
			}
		})
	}
}

// wantRaised fails if health or readiness differ from those of a file and FormulaVersion does not: the version is a part of the entity
// tag, by which clients would keep the former answer.
func wantRaised(t *testing.T, file string, got []byte) {
	t.Helper()
	former, err := os.ReadFile(file)
	errtest.Must(t, err)
	version := []byte(`"formulaVersion": "` + assessment.FormulaVersion + `"`)
	if !bytes.Contains(former, version) {
		return
	}
	var was, is struct{ Health, Readiness any }
	errtest.Must(t, json.Unmarshal(former, &was))
	errtest.Must(t, json.Unmarshal(got, &is))
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("health or readiness changed; raise FormulaVersion (-former +now):\n%s", diff)
	}
}
