package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocuments: the figures in the README and in ARCHITECTURE are the ones that are printed here.
func TestDocuments(t *testing.T) {
	t.Parallel()
	s, p := deployed(t), listPrices()
	readme := document(t, "README.md")
	for _, text := range []string{summary(s, p), arithmetic(fixed(s, p))} {
		if !strings.Contains(readme, text) {
			t.Errorf("the README lacks, or has otherwise:\n%s", text)
		}
	}
	rows := strings.SplitAfter(table(), "\n")
	_, after, found := strings.Cut(document(t, "ARCHITECTURE.md"), rows[0]+rows[1])
	if !found {
		t.Fatalf("ARCHITECTURE has no table with the head\n%s", rows[0])
	}
	told := 0
	for row := range strings.Lines(after) {
		if !strings.HasPrefix(row, "|") {
			break
		}
		told++
		if !strings.Contains(table(), row) {
			t.Errorf("ARCHITECTURE has a row that is not as it was measured: %s", row)
		}
	}
	if told < 10 {
		t.Errorf("ARCHITECTURE has %d rows", told)
	}
}

func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	must(t, err)
	return string(text)
}
