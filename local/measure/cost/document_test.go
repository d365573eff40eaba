package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/errtest"
)

var update = flag.Bool("update", false, "write the tables into the READMEs")

// TestDocuments compares the tables in the READMEs with what this program prints.
func TestDocuments(t *testing.T) {
	t.Parallel()
	s, p := deployed(t), listPrices()
	tests := []struct{ file, name, want string }{
		{"README.md", "operations", table()},
		{"../../../infra/README.md", "bill", summary(s, p)},
		{"../../../infra/README.md", "parts", byPart(s, p)},
		{"../../../infra/README.md", "optional", optional(s, p)},
		{"../../../infra/README.md", "fixed", arithmetic("dollars a month", fixed(s, p))},
		{"../../../functions/notifier/README.md", "notices", arithmetic("dollars for 1,000 mails", notices(s, p))},
	}
	for _, tt := range tests { // in turn: three tables stand in one file
		file := filepath.FromSlash(tt.file)
		text, err := os.ReadFile(file)
		errtest.Must(t, err)
		begin, end := "<!-- "+tt.name+": written by go test ./local/measure/cost -run TestDocuments -update -->\n", "<!-- end of "+tt.name+" -->\n"
		before, rest, begins := strings.Cut(string(text), begin)
		if !begins {
			t.Fatalf("%s lacks the line %q", tt.file, begin)
		}
		got, after, ends := strings.Cut(rest, end)
		if !ends {
			t.Fatalf("%s lacks the line %q after %q", tt.file, end, begin)
		}
		want := "\n" + strings.TrimSuffix(tt.want, "\n") + "\n\n"
		if *update {
			errtest.Must(t, os.WriteFile(file, []byte(before+begin+want+end+after), 0o600))
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, table %s; run with -update (-want +got):\n%s", tt.file, tt.name, diff)
		}
	}
}
