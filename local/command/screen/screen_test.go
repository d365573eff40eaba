package screen_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode"

	"github.com/lmittmann/tint"

	"orgops/local/command/screen"
	"orgops/shared/testkit/errtest"
)

// TestEscape shows what a terminal would obey, and leaves the rest as it is.
func TestEscape(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"plain\n\ttext, ünïcode 漢字 👩‍💻": "plain\n\ttext, ünïcode 漢字 👩‍💻",
		"\x1b[2J\x1b]0;title\a":         `\u001b[2J\u001b]0;title\u0007`,
		"over\rwritten\b\x7f":           `over\u000dwritten\u0008\u007f`,
		"C1 \u009b31m":                  `C1 \u009b31m`,
		"bidi \u202egnp.exe \u2066x":    `bidi \u202egnp.exe \u2066x`,
		"no UTF-8 \x9b31m \xff":         `no UTF-8 \ufffd31m \ufffd`,
	}
	for text, want := range tests {
		if got := screen.Escape(text); got != want {
			t.Errorf("Escape(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestWriter reports the bytes that it was given, and keeps the meaning of JSON.
func TestWriter(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	given := map[string]string{"title": "a\x1b[31m\u009b\u202e\x7f"}
	text, err := json.Marshal(given)
	errtest.Must(t, err)
	n, err := fmt.Fprintf(screen.Writer(&out), "%s", text)
	errtest.Must(t, err)
	if n != len(text) {
		t.Errorf("%d bytes written, want %d", n, len(text))
	}
	var got map[string]string
	errtest.Must(t, json.Unmarshal(out.Bytes(), &got))
	if got["title"] != given["title"] {
		t.Errorf("title = %q, want %q", got["title"], given["title"])
	}
	if i := strings.IndexFunc(out.String(), unicode.IsControl); i >= 0 {
		t.Errorf("a control character at %d of %q", i, out.String())
	}
}

// TestAttr keeps a terminal's log free of what a value or an error has.
func TestAttr(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := slog.New(tint.NewTextHandler(&out, &tint.Options{NoColor: true, ReplaceAttr: screen.Attr}))
	logger.Info("refused \x1b[1m", "name", "a\x1b[2Jb", "error", errors.New("said \x1b]0;x\a"), "count", 3)
	if i := strings.IndexFunc(strings.TrimSuffix(out.String(), "\n"), unicode.IsControl); i >= 0 {
		t.Errorf("a control character at %d of %q", i, out.String())
	}
	if !strings.Contains(out.String(), "count=3") {
		t.Errorf("log = %q, want the other attributes too", out.String())
	}
}
