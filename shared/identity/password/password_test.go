package password_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"orgops/shared/identity/password"
	"orgops/shared/testkit/errtest"
)

func TestHasher_Verify(t *testing.T) {
	t.Parallel()
	h, ctx := password.New(), context.Background()
	hash, err := h.Hash(ctx, "café au lait")
	errtest.Must(t, err)
	if want := "$argon2id$v=19$m=19456,t=2,p=1$"; !strings.HasPrefix(hash, want) {
		t.Fatalf("hash %q, want one that begins with %q", hash, want)
	}
	again, err := h.Hash(ctx, "café au lait")
	errtest.Must(t, err)
	if again == hash {
		t.Errorf("hash %q again, want one with another salt", again)
	}
	tests := []struct {
		name, password string
		want           bool
	}{
		{"right", "café au lait", true},
		{"decomposed accent", "cafe\u0301 au lait", true},
		{"wrong", "cafe au lait", false},
		{"empty", "", false},
		{"longer", "café au lait ", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := h.Verify(ctx, tt.password, hash)
			errtest.Must(t, err)
			if got != tt.want {
				t.Errorf("Verify(%q) = %t, want %t", tt.password, got, tt.want)
			}
		})
	}
	if h.NeedsRehash(hash) {
		t.Error("NeedsRehash is true for a fresh hash")
	}
}

func TestHasher_VerifyWeakHash(t *testing.T) {
	t.Parallel()
	h := password.New()
	const weak = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA"
	ok, err := h.Verify(context.Background(), "password", weak)
	errtest.Must(t, err)
	if ok {
		t.Error("a wrong password is accepted")
	}
	if !h.NeedsRehash(weak) {
		t.Error("NeedsRehash is false for a weak hash")
	}
}

func TestHasher_BadHash(t *testing.T) {
	t.Parallel()
	h := password.New()
	for _, hash := range []string{
		"", "x", "$argon2i$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA",
		"$argon2id$v=16$m=19456,t=2,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA",
		"$argon2id$v=19$m=4000000,t=2,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA",
		"$argon2id$v=19$m=19456,t=2000000,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA",
		"$argon2id$v=19$m=19456,t=2,p=0$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA",
		"$argon2id$v=19$m=19456,t=2,p=1$!$AAAAAAAAAAAAAAAAAAAAAA",
		"$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$AA",
	} {
		ok, err := h.Verify(context.Background(), "password", hash)
		if err == nil {
			t.Errorf("%q: no error, want one", hash)
		}
		if ok {
			t.Errorf("%q: the password is accepted, want it refused", hash)
		}
	}
}

func TestHasher_ContextEnds(t *testing.T) {
	t.Parallel()
	h := password.New()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := h.Hash(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want %v", err, context.Canceled)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, password string
		ok             bool
	}{
		{"seven characters", "x4ñq9-z", false},
		{"eight characters", "x4ñq9-zé", true},
		{"eight characters of two bytes", "éàüñçøåß", true},
		{"seven characters of two code points", strings.Repeat("e\u0301", 7), false},
		{"128 characters", strings.Repeat("x4q-", 32), true},
		{"129 characters", strings.Repeat("x4q", 43), false},
		{"not UTF-8", "x4ñq9-zé\xff", false},
		{"spaces only", "        ", false},
		{"two characters in turn", "abababababab", false},
		{"counting up", "23456789", false},
		{"counting down", "hgfedcba", false},
		{"the first of the list", "!!!!!!!!", false},
		{"the commonest", "password", false},
		{"the commonest, in another case", "PassWord", false},
		{"a common one of ten characters", "qwertyuiop", false},
		{"one character more than a common one", "qwertyuiop-", true},
		{"the name, with a year", "Lovelace1815", false},
		{"the address with a sign", "ada@acme!", false},
		{"the service and a year", "OrgOps-2026!", false},
		{"the name in a phrase", "ada counts the engine's wheels", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			problems := password.Check(tt.password, "/password", "ada", "acme", "test", "Ada", "Lovelace")
			if ok := len(problems) == 0; ok != tt.ok {
				t.Errorf("accepted = %t, want %t; problems %+v", ok, tt.ok, problems)
			}
		})
	}
}

func TestGenerate(t *testing.T) {
	t.Parallel()
	a, b := password.Generate(), password.Generate()
	if a == b {
		t.Errorf("%q twice, want two passwords", a)
	}
	if n := len(a); n != 27 {
		t.Errorf("%q has %d bytes, want 27", a, n)
	}
	if problems := password.Check(a, ""); len(problems) > 0 {
		t.Errorf("%q has problems %+v, want none", a, problems)
	}
}
