package guides_test

import (
	"strings"
	"testing"

	"orgops/shared/identity/application"
	"orgops/shared/provider/connect"
	"orgops/shared/testkit/errtest"
)

// TestProviders reads the guide's applications, and finds each kind that can be connected in its table.
func TestProviders(t *testing.T) {
	t.Parallel()
	for _, text := range blocks(t, "providers.md", "json") {
		_, err := application.Parse([]byte(text))
		errtest.Must(t, err)
	}
	text := readFile(t, "providers.md")
	for _, kind := range connect.Kinds() {
		if !strings.Contains(text, "| `"+kind+"` |") {
			t.Errorf("the table lacks %s", kind)
		}
	}
}
