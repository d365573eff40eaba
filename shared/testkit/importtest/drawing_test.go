package importtest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the drawing in ARCHITECTURE.md")

// The lines around the drawing.
const (
	drawingBegin = "<!-- groups: drawn by go test ./shared/testkit/importtest -update -->\n"
	drawingEnd   = "<!-- end of groups -->\n"
)

// drawing draws the table of groups in Mermaid, which GitHub renders.
func drawing() string {
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TD\n")
	for _, g := range shown() {
		fmt.Fprintf(&b, "  %s[\"<b>%s</b><br/>%s\"]\n", g.name, g.name, g.holds)
	}
	for _, g := range shown() {
		for _, to := range g.may {
			fmt.Fprintf(&b, "  %s --> %s\n", g.name, to)
		}
	}
	b.WriteString("```\n")
	return b.String()
}

func TestDrawing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(root, "ARCHITECTURE.md")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(content), drawingBegin)
	if !begins {
		t.Fatalf("ARCHITECTURE.md lacks the line %q", drawingBegin)
	}
	drawn, after, ends := strings.Cut(rest, drawingEnd)
	if !ends {
		t.Fatalf("ARCHITECTURE.md lacks the line %q after %q", drawingEnd, drawingBegin)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+drawingBegin+drawing()+drawingEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(drawing(), drawn); diff != "" {
		t.Errorf("the drawing in ARCHITECTURE.md differs from the table; run with -update (-want +got):\n%s", diff)
	}
}
