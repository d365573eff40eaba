package password_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"orgops/shared/identity/password"
)

func TestHasher_Verify(t *testing.T) {
	t.Parallel()
	h, ctx := password.New(), context.Background()
	hash, err := h.Hash(ctx, "café au lait")
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatal(hash, err)
	}
	again, err := h.Hash(ctx, "café au lait")
	if err != nil || again == hash {
		t.Error("two hashes have the same salt:", err)
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
			if ok, err := h.Verify(ctx, tt.password, hash); err != nil || ok != tt.want {
				t.Error(ok, err)
			}
		})
	}
	if password.NeedsRehash(hash) {
		t.Error("NeedsRehash is true for a fresh hash")
	}
}

func TestHasher_VerifyWeakHash(t *testing.T) {
	t.Parallel()
	h := password.New()
	const weak = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA"
	if ok, err := h.Verify(context.Background(), "password", weak); ok || err != nil {
		t.Error(ok, err)
	}
	if !password.NeedsRehash(weak) {
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
		if ok, err := h.Verify(context.Background(), "password", hash); ok || err == nil {
			t.Errorf("%s: %t %v", hash, ok, err)
		}
	}
}

func TestHasher_ContextEnds(t *testing.T) {
	t.Parallel()
	h := password.New()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := h.Hash(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, password string
		ok             bool
	}{
		{"seven characters", "1234567", false},
		{"eight characters", "12345678", true},
		{"eight characters of two bytes", "éééééééé", true},
		{"seven characters of two code points", strings.Repeat("e\u0301", 7), false},
		{"128 characters", strings.Repeat("x", 128), true},
		{"129 characters", strings.Repeat("x", 129), false},
		{"spaces only", "        ", true},
		{"not UTF-8", "12345678\xff", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			problems := password.Check(tt.password, "/password")
			if (len(problems) == 0) != tt.ok {
				t.Errorf("%+v", problems)
			}
		})
	}
}

func TestGenerate(t *testing.T) {
	t.Parallel()
	a, b := password.Generate(), password.Generate()
	if a == b || len(a) != 27 || len(password.Check(a, "")) > 0 {
		t.Error(a, b)
	}
}
