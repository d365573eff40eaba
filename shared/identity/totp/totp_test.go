package totp_test

import (
	"testing"
	"time"

	"orgops/shared/identity/totp"
)

// TestAt compares with the vectors of RFC 6238, appendix B, whose last six digits are the code.
func TestAt(t *testing.T) {
	t.Parallel()
	key := []byte("12345678901234567890")
	for at, want := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130",
	} {
		if got := totp.At(key, time.Unix(at, 0)); got != want {
			t.Errorf("code at %d = %s, want %s", at, got, want)
		}
	}
}

// TestCheck accepts the current code and those of one step before and after, and no step twice.
func TestCheck(t *testing.T) {
	t.Parallel()
	key, now := totp.NewKey(), time.Unix(1_800_000_000, 0)
	current := now.Unix() / 30
	for name, tt := range map[string]struct {
		text  string
		after int64
		want  int64 // 0: refused
	}{
		"current":           {totp.At(key, now), 0, current},
		"one step before":   {totp.At(key, now.Add(-30*time.Second)), 0, current - 1},
		"one step after":    {totp.At(key, now.Add(30*time.Second)), 0, current + 1},
		"two steps before":  {totp.At(key, now.Add(-time.Minute)), 0, 0},
		"two steps after":   {totp.At(key, now.Add(time.Minute)), 0, 0},
		"used":              {totp.At(key, now), current, 0},
		"before a used one": {totp.At(key, now.Add(-30*time.Second)), current, 0},
		"of another key":    {totp.At(totp.NewKey(), now) + "0", 0, 0},
		"empty":             {"", 0, 0},
	} {
		got, ok := totp.Check(key, tt.text, tt.after, now)
		if got != tt.want {
			t.Errorf("%s: step = %d, want %d", name, got, tt.want)
		}
		if ok != (tt.want != 0) {
			t.Errorf("%s: right = %t, want %t", name, ok, tt.want != 0)
		}
	}
}

// TestAddress gives an authenticator app what its key URI format asks for.
func TestAddress(t *testing.T) {
	t.Parallel()
	got := totp.Address([]byte("12345678901234567890"), "Mission Control", "ada@acme.test")
	if want := "otpauth://totp/Mission%20Control:ada@acme.test?issuer=Mission%20Control&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"; got != want {
		t.Errorf("address = %s, want %s", got, want)
	}
}
