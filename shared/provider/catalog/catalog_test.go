package catalog_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/provider/catalog"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/scheme"
	"orgops/shared/provider/shelf"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

// kind matches the name of the connector that a package of provider makes.
var kind = regexp.MustCompile(`(?m)^(?:const|\t)\s*Kind\s+= "(.*)"`)

// TestAll has every connector that a package of provider makes.
func TestAll(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*/*.go")
	errtest.Must(t, err)
	var made []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		errtest.Must(t, err)
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, found := range kind.FindAllStringSubmatch(string(source), -1) {
			made = append(made, found[1])
		}
	}
	for _, c := range shelf.All(nil, time.Now) { // a file each
		made = append(made, c.Kind())
	}
	slices.Sort(made)
	if diff := cmp.Diff(made, all().Kinds()); diff != "" {
		t.Errorf("connectors in the catalog (-made +listed):\n%s", diff)
	}
}

// TestAll_Headers documents each header by which a connector signs, and each that its sample has.
func TestAll_Headers(t *testing.T) {
	t.Parallel()
	receiving := 0
	for _, kind := range all().Kinds() {
		c, _ := all().Lookup(kind)
		conn, ok := c.(connector.Inbound)
		if !ok {
			continue
		}
		receiving++
		sample, body := conn.SampleArrival([]byte(`{}`))
		var needed, documented []string
		for _, header := range []map[string][]string{sample, conn.Sign(nil, "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "1", scheme.Request{Body: body}, time.Now())} {
			for name := range header {
				if name != "Content-Type" {
					needed = append(needed, strings.ToLower(name))
				}
			}
		}
		for _, h := range conn.Headers() {
			documented = append(documented, strings.ToLower(h.Name))
		}
		slices.Sort(needed)
		slices.Sort(documented)
		if diff := cmp.Diff(needed, documented); diff != "" {
			t.Errorf("%s: headers of an arrival (-needed +documented):\n%s", kind, diff)
		}
	}
	if receiving < 3 {
		t.Errorf("%d connectors receive webhooks, want at least 3", receiving)
	}
}

func all() connector.Registry { return catalog.All(outbound.New(outbound.Options{}), time.Now) }
