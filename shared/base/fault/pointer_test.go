package fault_test

import (
	"testing"

	"orgops/shared/base/fault"
)

// TestPointer takes its hard cases from RFC 6901 §5.
func TestPointer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		tokens []string
		want   string
	}{
		{nil, ""},
		{[]string{"foo"}, "/foo"},
		{[]string{"foo", "0"}, "/foo/0"},
		{[]string{""}, "/"},
		{[]string{"a/b"}, "/a~1b"},
		{[]string{"m~n"}, "/m~0n"},
		{[]string{"~1", "a b", `k"l`}, `/~01/a b/k"l`},
	}
	for _, tt := range tests {
		if got := fault.Pointer(tt.tokens...); got != tt.want {
			t.Errorf("Pointer(%q) = %q, want %q", tt.tokens, got, tt.want)
		}
	}
}
