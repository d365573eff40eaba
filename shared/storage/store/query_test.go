package store_test

import (
	"testing"

	"orgops/shared/storage/store"
)

func TestQuery_PrefixEnd(t *testing.T) {
	t.Parallel()
	tests := []struct{ prefix, want string }{
		{"", ""},
		{"A#", "A$"},
		{"A\x7f", "A\u0080"},
		{"Aé", "Aê"},
		{"A\u07ff", "A\u0800"},
		{"A\ud7ff", "A\ue000"}, // surrogates are not valid runes
		{"A\U0010ffff", "B"},
		{"\U0010ffff\U0010ffff", ""},
	}
	for _, tt := range tests {
		got := store.Query{Prefix: tt.prefix}.PrefixEnd()
		if got != tt.want {
			t.Errorf("end of %q: %q, want %q", tt.prefix, got, tt.want)
		}
		if last := tt.prefix + "\U0010ffff"; got != "" && got <= last {
			t.Errorf("end of %q: %q, want it after %q", tt.prefix, got, last)
		}
	}
}
