package acceptance_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenDocument is the OpenAPI document under version control: what it shows is reviewed as any change is.
var goldenDocument = filepath.Join("testdata", "openapi.golden.json")

func TestGoldenOpenAPI(t *testing.T) {
	t.Parallel()
	s := start(t)
	var document bytes.Buffer
	must(t, json.Indent(&document, s.do("GET", "/openapi.json", nil).want(200).body, "", "  "))
	document.WriteByte('\n')
	if *update {
		must(t, os.WriteFile(goldenDocument, document.Bytes(), 0o644))
		return
	}
	golden, err := os.ReadFile(goldenDocument)
	must(t, err)
	if diff := cmp.Diff(string(golden), document.String()); diff != "" {
		t.Errorf("the OpenAPI document has changed (-golden +now); if it is meant to, run make golden:\n%s", diff)
	}
}

// The document is the same whenever it is made: nothing in it follows the order of a map.
func TestOpenAPIIsDeterministic(t *testing.T) {
	t.Parallel()
	a, b := start(t), start(t)
	for _, path := range []string{"/openapi.json", "/openapi.yaml"} {
		if !bytes.Equal(a.do("GET", path, nil).want(200).body, b.do("GET", path, nil).want(200).body) {
			t.Errorf("%s differs from start to start", path)
		}
	}
}
