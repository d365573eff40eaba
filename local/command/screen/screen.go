// Package screen writes what strangers may have chosen, such as a webhook's body or a provider's error, to a terminal. A terminal
// obeys control characters: they move the cursor, hide lines, rename the window or answer for the user.
package screen

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns a text in which each control character is written as in JSON, such as \u001b, other than a line break and a tab. It
// also writes out what changes the direction of text (https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing), and bytes
// that are no UTF-8. So JSON stays JSON with the same meaning.
func Escape(text string) string {
	if !strings.ContainsFunc(text, obeyed) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if obeyed(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// obeyed reports whether a terminal may act on a character instead of showing it.
func obeyed(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u2028', '\u2029', utf8.RuneError:
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// Writer escapes what is written to w. Each write holds whole characters, as those of fmt and encoding/json do.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ io.Writer }

// Write implements io.Writer.
func (w writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, Escape(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Attr escapes the value of a log's attribute, for a handler that writes to a terminal.
func Attr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString, slog.KindAny:
		text := v.String()
		if safe := Escape(text); safe != text {
			return slog.String(a.Key, safe)
		}
	}
	return a
}
