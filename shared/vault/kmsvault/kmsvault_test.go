package kmsvault_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"orgops/shared/awstest"
	"orgops/shared/fault"
	"orgops/shared/vault"
	"orgops/shared/vault/kmsvault"
)

var moto = awstest.Moto()

func TestMain(m *testing.M) { os.Exit(awstest.Run(m, moto)) }

func TestWrapper(t *testing.T) {
	t.Parallel()
	w := kmsvault.New(moto.Access(t), awstest.WrappingKey(t, moto.Access(t)))
	wrapped, err := w.Wrap(t.Context(), "a", []byte("a data key"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.Unwrap(t.Context(), "a", wrapped); err != nil || string(got) != "a data key" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := w.Unwrap(t.Context(), "b", wrapped); !errors.Is(err, vault.ErrSealed) {
		t.Errorf("company b opens a's key: %q, %v", got, err)
	}
	wrapped[len(wrapped)-1] ^= 1
	if got, err := w.Unwrap(t.Context(), "a", wrapped); !errors.Is(err, vault.ErrSealed) {
		t.Errorf("a damaged key opens: %q, %v", got, err)
	}
}

func TestWrapper_Away(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := kmsvault.New(moto.Access(t), "arn")
	if _, err := w.Wrap(ctx, "a", []byte("k")); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
}

// keys is a vault.KeyStore in memory.
type keys map[string][]byte

func (k keys) Get(_ context.Context, company string) ([]byte, error) {
	if wrapped, ok := k[company]; ok {
		return wrapped, nil
	}
	return nil, vault.ErrNoKey
}

func (k keys) Create(_ context.Context, company string, wrapped []byte) error {
	k[company] = wrapped
	return nil
}

// TestVault: what is sealed for one company opens for no other, not even with its wrapped key in the other's place.
func TestVault(t *testing.T) {
	t.Parallel()
	proxy, store := moto.Through(t), keys{}
	access := proxy.Access()
	arn := awstest.WrappingKey(t, access)
	sealed, err := vault.New(kmsvault.New(access, arn), store, nil).Seal(t.Context(), "a", "github/token", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	again := vault.New(kmsvault.New(access, arn), store, nil)
	for range 3 {
		if got, err := again.Open(t.Context(), "a", "github/token", sealed); err != nil || string(got) != "secret" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	if n := proxy.Calls("Decrypt"); n != 2 {
		t.Errorf("KMS was asked %d times to unwrap one key, by two vaults", n)
	}
	store["b"] = store["a"]
	if got, err := again.Open(t.Context(), "b", "github/token", sealed); !errors.Is(err, vault.ErrSealed) {
		t.Errorf("b opens a's: %q, %v", got, err)
	}
}
