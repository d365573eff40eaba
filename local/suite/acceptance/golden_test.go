package acceptance_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/errtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldenDocument names the OpenAPI document under version control, so that its changes are reviewed.
var goldenDocument = filepath.Join("testdata", "openapi.golden.json")

func TestGoldenOpenAPI(t *testing.T) {
	t.Parallel()
	s := start(t)
	var document bytes.Buffer
	errtest.Must(t, json.Indent(&document, s.do("GET", "/openapi.json", nil).want(200).body, "", "  "))
	document.WriteByte('\n')
	if *update {
		errtest.Must(t, os.WriteFile(goldenDocument, document.Bytes(), 0o644))
		return
	}
	golden, err := os.ReadFile(goldenDocument)
	errtest.Must(t, err)
	if diff := cmp.Diff(string(golden), document.String()); diff != "" {
		t.Errorf("the OpenAPI document has changed (-golden +now); if this is intended, run make golden:\n%s", diff)
	}
}

// TestDocument_Deterministic compares the document of two starts: it must not depend on the order of a map.
func TestDocument_Deterministic(t *testing.T) {
	t.Parallel()
	a, b := start(t), start(t)
	for _, path := range []string{"/openapi.json", "/openapi.yaml"} {
		if !bytes.Equal(a.do("GET", path, nil).want(200).body, b.do("GET", path, nil).want(200).body) {
			t.Errorf("%s differs between two starts", path)
		}
	}
}
