package blackbox_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/errtest"
)

// goldenFile returns the path of the file that holds a journey's golden steps.
func goldenFile(journey string) string {
	return filepath.Join("testdata", journey+".golden.json")
}

func readGolden(t *testing.T, journey string) []step {
	t.Helper()
	file := goldenFile(journey)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("journey %s has no golden file (make golden writes it): %v", journey, err)
	}
	var steps []step
	if err := json.Unmarshal(text, &steps); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return withHeaders(steps, whole)
}

// goldenText returns the golden file of a journey with these steps.
func goldenText(t *testing.T, steps []step) string {
	t.Helper()
	text, err := layout(show(withHeaders(steps, short)))
	errtest.Must(t, err)
	return text
}

func writeGolden(t *testing.T, journey string, steps []step) {
	t.Helper()
	errtest.Must(t, os.WriteFile(goldenFile(journey), []byte(goldenText(t, steps)), 0o644))
}

// TestGoldenFiles fails for a file in testdata that is not the golden file of a journey, or that an update would write differently.
func TestGoldenFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*"))
	errtest.Must(t, err)
	var golden []string
	for _, tt := range journeys {
		golden = append(golden, goldenFile(tt.name))
		text, err := os.ReadFile(goldenFile(tt.name))
		errtest.Must(t, err)
		if diff := cmp.Diff(goldenText(t, readGolden(t, tt.name)), string(text)); diff != "" {
			t.Errorf("%s is not as -update writes it (-want +got):\n%s", goldenFile(tt.name), diff)
		}
	}
	for _, file := range files {
		if !slices.Contains(golden, file) {
			t.Errorf("%s belongs to no journey; delete it", file)
		}
	}
}

// matches reports whether s equals the golden step that is due. With -update no step is due, and every step matches.
func (j *journey) matches(s step) bool {
	due := len(j.steps)
	return *update || due < len(j.golden) && show(j.golden[due]) == show(s)
}

// check compares s with the golden step that is due. The journey ends at the first step that differs.
func (j *journey) check(s step) {
	j.t.Helper()
	due, file := len(j.steps), goldenFile(j.name)
	switch {
	case j.matches(s):
		j.steps = append(j.steps, s)
	case due == len(j.golden):
		j.t.Fatalf("%s: step %d is %q, want the end:\n%s", file, due+1, s.Name, show(s))
	case s.Name != j.golden[due].Name:
		j.t.Fatalf("%s: step %d is %q, want %q:\n%s", file, due+1, s.Name, j.golden[due].Name, show(s))
	default:
		j.t.Fatalf("%s: step %d, %q, differs (-want +got):\n%s", file, due+1, s.Name, cmp.Diff(show(j.golden[due]), show(s)))
	}
}

// end fails the test if golden steps are left over, or deliveries that the journey did not wait for.
func (j *journey) end() {
	j.t.Helper()
	for _, r := range j.receivers {
		for _, d := range r.take(false) {
			j.t.Errorf("the journey did not wait for this delivery: %s", d.body)
		}
	}
	if due := len(j.steps); due < len(j.golden) {
		j.t.Errorf("%s: the journey ended before step %d, want %q", goldenFile(j.name), due+1, j.golden[due].Name)
	}
}

// show returns v as indented JSON.
func show(v any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err.Error()
	}
	return out.String()
}
