package text_test

import (
	"encoding/json"
	"strings"
	"testing"

	"orgops/shared/base/text"
	"orgops/shared/testkit/errtest"
)

func TestTruncateJSON(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		s    string
		n    int
		want string
	}{
		{"empty", "", 3, ""},
		{"shorter", "ab", 3, "ab"},
		{"longer", "abcd", 3, "abc"},
		{"two bytes for a quote", `""""`, 5, `""`},
		{"two bytes for a line break", "\n\t\r\b\f", 8, "\n\t\r\b"},
		{"six bytes for markup", "<<&>", 17, "<<"},
		{"six bytes for a control character", "\x00\x01", 6, "\x00"},
		{"six bytes for a line separator", "\u2028\u2029", 11, "\u2028"},
		{"six bytes for an invalid byte", "\xff\xff", 6, "\xff"},
		{"no character split", "日本", 5, "日"},
		{"nothing", "abc", 0, ""},
	}
	for _, tt := range tests {
		if got := text.TruncateJSON(tt.s, tt.n); got != tt.want {
			t.Errorf("%s: TruncateJSON(%q, %d) = %q, want %q", tt.name, tt.s, tt.n, got, tt.want)
		}
	}
}

// FuzzTruncateJSON checks that the result is a prefix whose JSON has at most n bytes, and nearly as many if s has more.
func FuzzTruncateJSON(f *testing.F) {
	f.Add("aé\"<日😀\n\x01", uint(9))
	f.Add("\x80\xff\ufffd", uint(7))
	f.Add("", uint(0))
	f.Fuzz(func(t *testing.T, s string, most uint) {
		n := int(most % 64)
		got := text.TruncateJSON(s, n)
		if !strings.HasPrefix(s, got) {
			t.Fatalf("TruncateJSON(%q, %d) = %q, want a prefix", s, n, got)
		}
		if size := encodedLen(t, got); size > n {
			t.Fatalf("TruncateJSON(%q, %d) = %q of %d bytes, want at most %[2]d", s, n, got, size)
		}
		valid := strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\ufffd", "") // the escape is counted for a valid U+FFFD too
		got = text.TruncateJSON(valid, n)
		if size := encodedLen(t, got); got != valid && n-size >= 6 {
			t.Fatalf("TruncateJSON(%q, %d) = %q of %d bytes, want more of it", valid, n, got, size)
		}
	})
}

// encodedLen returns how many bytes encoding/json writes for s, quotes excluded.
func encodedLen(t *testing.T, s string) int {
	t.Helper()
	b, err := json.Marshal(s)
	errtest.Must(t, err)
	return len(b) - len(`""`)
}
