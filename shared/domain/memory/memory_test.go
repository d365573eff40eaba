package memory_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"orgops/shared/domain/memory"
)

func TestApply(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := memory.Draft{ExternalID: "7", Kind: "issue", Title: "Printer on fire", Body: "It burns."}
	first, changed := memory.Apply(memory.Memory{}, "github", d, now)
	if !changed || first.ID != memory.IDOf("github", "7") || first.CreatedAt != now {
		t.Fatalf("first = %+v, %v", first, changed)
	}
	if _, changed := memory.Apply(first, "github", d, now.Add(time.Hour)); changed {
		t.Error("Apply reports the same content as changed")
	}
	d.Title = "Printer out"
	second, changed := memory.Apply(first, "github", d, now.Add(time.Hour))
	if !changed || second.ID != first.ID || second.CreatedAt != now || second.UpdatedAt != now.Add(time.Hour) {
		t.Errorf("second = %+v, %v", second, changed)
	}
	if memory.IDOf("github", "7") == memory.IDOf("feed", "7") {
		t.Error("two providers share an id")
	}
}

func TestApply_LongText(t *testing.T) {
	t.Parallel()
	d := memory.Draft{ExternalID: "7", Kind: "issue", Title: strings.Repeat("é", 1000), Body: strings.Repeat("語", 40_000), URL: strings.Repeat("u", 5000)}
	m, changed := memory.Apply(memory.Memory{}, "github", d, time.Now())
	if !changed || len(m.Title) > 1024 || len(m.Body) > 64<<10 || m.URL != "" {
		t.Fatalf("title %d, body %d, url %d bytes", len(m.Title), len(m.Body), len(m.URL))
	}
	if !utf8.ValidString(m.Title) || !utf8.ValidString(m.Body) {
		t.Error("Apply cut text within a character")
	}
	if _, changed := memory.Apply(m, "github", d, time.Now()); changed {
		t.Error("Apply reports the same long content as changed")
	}
}

// TestApply_EscapedText checks that thirty memories fit one commit, however much of their text JSON escapes.
func TestApply_EscapedText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"<", "\x00", "\u2028", "\"", "\n", "é", "\xff", "x"} {
		body := strings.Repeat(text, (64<<10)/len(text))
		m, _ := memory.Apply(memory.Memory{}, "github", memory.Draft{ExternalID: "7", Title: "t", Body: body}, time.Now())
		encoded, err := json.Marshal(m)
		if err != nil || len(encoded) > 91<<10 {
			t.Errorf("%q: %d bytes, %v", text, len(encoded), err)
		}
		if whole := len(body) < 44<<10 || text == "é" || text == "x"; whole != (m.Body == body) {
			t.Errorf("%q: body has %d bytes after Apply, %d before", text, len(m.Body), len(body))
		}
	}
}

func TestDraft_Check(t *testing.T) {
	t.Parallel()
	if p := (memory.Draft{}).Check(""); len(p) != 2 {
		t.Errorf("an empty draft has problems %v, want two", p)
	}
	if p := (memory.Draft{ExternalID: "7", Title: "x"}).Check(""); len(p) != 0 {
		t.Errorf("a good draft has problems %v", p)
	}
}
