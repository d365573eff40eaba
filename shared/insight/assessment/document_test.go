package assessment

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocument compares the README with the tables of checks, in their order.
func TestDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range healthRules() {
		want = append(want, fmt.Sprintf("| %s | %s | %g |", r.id, r.title, r.severity.weight()))
	}
	for _, level := range ladder(HealthScore{}) {
		for _, r := range level.rules {
			want = append(want, fmt.Sprintf("| %s | %s | %s |", level.title, r.id, r.title))
		}
	}
	rest := string(text)
	for _, row := range want {
		_, after, found := strings.Cut(rest, row)
		if !found {
			t.Errorf("the README lacks the row, or has it in another place: %s", row)
			continue
		}
		rest = after
	}
	if rows := strings.Count(string(text), "\n| ") - 2; rows != len(want) {
		t.Errorf("the README has %d rows, the tables have %d checks", rows, len(want))
	}
}
