package clientsecret_test

import (
	"regexp"
	"testing"

	"orgops/shared/identity/clientsecret"
)

// TestNew checks the form that scanners search for, and that no two secrets are equal.
func TestNew(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^orgops_[0-9A-Za-z]{36}$`)
	seen := map[string]bool{}
	for range 1000 {
		s := clientsecret.New()
		if !form.MatchString(s) {
			t.Fatalf("New() = %q, want the prefix and 36 digits", s)
		}
		if !clientsecret.Valid(s) {
			t.Fatalf("New() = %q, want the checksum of its digits at the end", s)
		}
		if seen[s] {
			t.Fatalf("New() = %q twice, want another one each time", s)
		}
		seen[s] = true
	}
}

// TestValid takes a secret whose checksum was computed with Python's zlib.crc32.
func TestValid(t *testing.T) {
	t.Parallel()
	const good = "orgops_0123456789ABCDEFGHIJKLMNOPQRST4PMbyp"
	tests := map[string]bool{
		good:                        true,
		"":                          false,
		"orgops_":                   false,
		good[:len(good)-1]:          false,
		good + "0":                  false,
		"orgops-" + good[7:]:        false,
		"orgops_1" + good[8:]:       false, // another digit
		good[:len(good)-1] + "z":    false, // another checksum
		"Orgops_" + good[7:]:        false,
		" " + good:                  false,
		good[:7] + "0" + good[7:42]: false,
	}
	for text, want := range tests {
		if got := clientsecret.Valid(text); got != want {
			t.Errorf("Valid(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	a, b := clientsecret.New(), clientsecret.New()
	tests := []struct {
		name   string
		secret string
		stored []string
		want   bool
	}{
		{"first", a, []string{clientsecret.Digest(a), clientsecret.Digest(b)}, true},
		{"last", b, []string{clientsecret.Digest(a), clientsecret.Digest(b)}, true},
		{"other", clientsecret.New(), []string{clientsecret.Digest(a)}, false},
		{"no digest", a, nil, false},
		{"the digest itself", clientsecret.Digest(a), []string{clientsecret.Digest(a)}, false},
	}
	for _, tt := range tests {
		if got := clientsecret.Matches(tt.secret, tt.stored...); got != tt.want {
			t.Errorf("%s: Matches = %v, want %v", tt.name, got, tt.want)
		}
	}
}
