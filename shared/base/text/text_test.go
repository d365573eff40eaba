package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"orgops/shared/base/text"
)

func TestTruncate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		s    string
		n    int
		want string
	}{
		{"empty", "", 3, ""},
		{"shorter", "ab", 3, "ab"},
		{"as long", "abc", 3, "abc"},
		{"longer", "abcd", 3, "abc"},
		{"between two characters", "aéé", 3, "aé"},
		{"within the last character", "aéé", 4, "aé"},
		{"within three bytes", "日本", 5, "日"},
		{"within four bytes", "a😀", 4, "a"},
		{"within the first character", "😀", 3, ""},
		{"a combining mark is a character", "e\u0301", 2, "e"},
		{"nothing", "abc", 0, ""},
		{"an invalid start byte", "ab\xffcd", 3, "ab\xff"},
		{"continuation bytes alone", "\x80\x80\x80", 2, ""},
	}
	for _, tt := range tests {
		if got := text.Truncate(tt.s, tt.n); got != tt.want {
			t.Errorf("%s: Truncate(%q, %d) = %q, want %q", tt.name, tt.s, tt.n, got, tt.want)
		}
	}
}

// FuzzTruncate checks that the result is a valid prefix of at most n bytes that drops no whole character too many.
func FuzzTruncate(f *testing.F) {
	f.Add("aé日😀", uint(5))
	f.Add("\x80\xff", uint(1))
	f.Add("", uint(0))
	f.Fuzz(func(t *testing.T, s string, most uint) {
		n := int(most % 64)
		got := text.Truncate(s, n)
		switch {
		case !strings.HasPrefix(s, got):
			t.Fatalf("Truncate(%q, %d) = %q, want a prefix", s, n, got)
		case len(got) > n:
			t.Fatalf("Truncate(%q, %d) = %q, want at most %[2]d bytes", s, n, got)
		case !utf8.ValidString(s):
			return
		case !utf8.ValidString(got):
			t.Fatalf("Truncate(%q, %d) = %q, want no character split", s, n, got)
		case n < len(s) && n-len(got) >= utf8.UTFMax:
			t.Fatalf("Truncate(%q, %d) = %q, want more of it", s, n, got)
		}
	})
}
