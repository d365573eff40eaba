package manifest_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"orgops/shared/provider/manifest"
	"orgops/shared/testkit/errtest"
)

// TestReadme checks that the table of what works has each kind that a manifest may name, and that a test of its row does.
func TestReadme(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("README.md")
	errtest.Must(t, err)
	tests, err := os.ReadFile("fetch_test.go")
	errtest.Must(t, err)
	const stream = "properties/streams/items/properties/"
	for part, at := range map[string]string{
		"paging":         stream + "paging/properties/type",
		"authentication": "properties/auth/properties/type",
		"incremental":    stream + "incremental/properties/form",
		"throttling":     "properties/throttle/properties/form",
		"errors":         "properties/errors/items/properties/means",
	} {
		_, after, _ := strings.Cut(string(content), "\n| "+part+" | ")
		row, _, _ := strings.Cut(after, "\n")
		shown := ""
		for _, name := range regexp.MustCompile("`(Test[^`]*)`").FindAllStringSubmatch(row, -1) {
			_, body, _ := strings.Cut(string(tests), "\nfunc "+name[1]+"(")
			body, _, _ = strings.Cut(body, "\nfunc Test")
			shown += body
		}
		for _, kind := range enum(t, at) {
			if !strings.Contains(row, "`"+kind+"`") {
				t.Errorf("the row of %s lacks %s; say that it works", part, kind)
			}
			if !strings.Contains(shown, `"`+kind+`"`) {
				t.Errorf("the tests in the row of %s have no %s; test that it works", part, kind)
			}
		}
	}
}

// enum returns the values that the schema of manifests allows at a place.
func enum(t *testing.T, at string) (values []string) {
	t.Helper()
	schema := manifest.Schema()
	for name := range strings.SplitSeq(at+"/enum", "/") {
		var object map[string]json.RawMessage
		errtest.Must(t, json.Unmarshal(schema, &object))
		schema = object[name]
	}
	errtest.Must(t, json.Unmarshal(schema, &values))
	return values
}
