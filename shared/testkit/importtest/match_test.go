package importtest_test

import "testing"

func TestMatches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern, pkg string
		want         bool
	}{
		{"shared/store", "shared/store", true},
		{"shared/store", "shared/store/sqlitestore", false},
		{"shared/...", "shared", true},
		{"shared/...", "shared/store/sqlitestore", true},
		{"shared/...", "sharedness", false},
		{"functions/*", "functions/auth", true},
		{"functions/*", "functions", false},
		{"functions/*", "functions/auth/lambda", false},
		{"functions/*/lambda", "functions/auth/lambda", true},
	}
	for _, tt := range tests {
		if got := matches(tt.pattern, tt.pkg); got != tt.want {
			t.Errorf("matches(%q, %q) = %t, want %t", tt.pattern, tt.pkg, got, tt.want)
		}
	}
}
