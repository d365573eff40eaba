package kmsvault_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/storage/vault"
	"orgops/shared/storage/vault/kmsvault"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

var (
	dynamo, moto = awstest.DynamoDB(), awstest.Moto()
	tables       atomic.Int64
)

func TestMain(m *testing.M) { os.Exit(awstest.Run(m, dynamo, moto)) }

// onEach runs a test on every store of wrapped keys, since all must be equally safe.
func onEach(t *testing.T, test func(t *testing.T, keys vault.StoreKeys)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newKeys(t))
	})
	t.Run("dynamodb", func(t *testing.T) {
		t.Parallel()
		access, table := dynamo.Access(t), fmt.Sprint("keys-", tables.Add(1))
		if err := dynamostore.Create(t.Context(), access, table, dynamostore.Shape{}); err != nil {
			t.Fatal(err)
		}
		test(t, vault.StoreKeys{Store: dynamostore.New(access, dynamostore.Options{Table: table})})
	})
}

func newKeys(t *testing.T) vault.StoreKeys {
	t.Helper()
	return vault.StoreKeys{Store: webtest.New(t).Store}
}

func seal(t *testing.T, v vault.Vault, company, label string) []byte {
	t.Helper()
	sealed, err := v.Seal(t.Context(), company, label, []byte("secret of "+company))
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func opens(t *testing.T, v vault.Vault, company, label string, sealed []byte) {
	t.Helper()
	got, err := v.Open(t.Context(), company, label, sealed)
	if err != nil {
		t.Errorf("open for %s: %v", company, err)
		return
	}
	if want := "secret of " + company; string(got) != want {
		t.Errorf("opened %q, want %q", got, want)
	}
}

func stays(t *testing.T, v vault.Vault, company, label string, sealed []byte) {
	t.Helper()
	got, err := v.Open(t.Context(), company, label, sealed)
	refused(t, "open for "+company, got, err)
}

// refused expects an operation to return ErrSealed and nothing else.
func refused(t *testing.T, operation string, got []byte, err error) {
	t.Helper()
	if !errors.Is(err, vault.ErrSealed) {
		t.Errorf("%s: error %v, want ErrSealed", operation, err)
	}
	if got != nil {
		t.Errorf("%s: got %q, want nothing", operation, got)
	}
}

// unavailable expects the fault Unavailable.
func unavailable(t *testing.T, err error) {
	t.Helper()
	if got := fault.KindOf(err); got != fault.Unavailable {
		t.Fatalf("error %v of kind %v, want %v", err, got, fault.Unavailable)
	}
}

func TestWrapper(t *testing.T) {
	t.Parallel()
	access := moto.Access(t)
	w := kmsvault.New(access, awstest.WrappingKey(t, access))
	wrapped, err := w.Wrap(t.Context(), "a", []byte("a data key"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.Unwrap(t.Context(), "a", wrapped)
	errtest.Must(t, err)
	if want := "a data key"; string(got) != want {
		t.Errorf("unwrapped %q, want %q", got, want)
	}
	stranger := kmsvault.New(access, awstest.WrappingKey(t, access))
	foreign, err := stranger.Wrap(t.Context(), "a", []byte("a data key"))
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(wrapped)
	damaged[len(damaged)-1] ^= 1
	tests := []struct {
		name, company string
		wrapped       []byte
	}{
		{"another company", "b", wrapped},
		{"no company", "", wrapped},
		{"damaged", "a", damaged},
		{"by a foreign key that KMS could use", "a", foreign},
	}
	for _, tt := range tests {
		got, err := w.Unwrap(t.Context(), tt.company, tt.wrapped)
		refused(t, tt.name+": unwrap", got, err)
		got, changed, err := w.Rewrap(t.Context(), tt.company, tt.wrapped)
		refused(t, tt.name+": rewrap", got, err)
		if changed {
			t.Errorf("%s: rewrap changed the key, want it unchanged", tt.name)
		}
	}
}

// TestVault checks that a text sealed for one company opens for no other, even after swapping texts or wrapped keys.
func TestVault(t *testing.T) { onEach(t, testVault) }

func testVault(t *testing.T, keys vault.StoreKeys) {
	proxy := moto.Through(t)
	arn := awstest.WrappingKey(t, proxy.Access())
	process := func() vault.Vault { return vault.New(kmsvault.New(proxy.Access(), arn), keys, nil) }
	first := process()
	a, b := seal(t, first, "a", "github/token"), seal(t, first, "b", "github/token")
	other := seal(t, first, "a", "github/secret")
	again := process()
	for range 3 {
		opens(t, again, "a", "github/token", a)
		opens(t, again, "b", "github/token", b)
	}
	if n := proxy.Calls("Decrypt"); n != 4 {
		t.Errorf("%d Decrypt calls for two keys in two processes, want 4", n)
	}
	stays(t, again, "b", "github/token", a)
	stays(t, again, "a", "github/token", b)
	stays(t, again, "a", "github/token", other)
	stays(t, again, "c", "github/token", a)

	// Swap the wrapped keys of a and b.
	keyA, errA := keys.Get(t.Context(), "a")
	keyB, errB := keys.Get(t.Context(), "b")
	if err := errors.Join(errA, errB, keys.Replace(t.Context(), "a", keyA, keyB), keys.Replace(t.Context(), "b", keyB, keyA)); err != nil {
		t.Fatal(err)
	}
	for _, company := range []string{"a", "b"} {
		for _, sealed := range [][]byte{a, b} {
			stays(t, process(), company, "github/token", sealed)
		}
		if _, err := process().Seal(t.Context(), company, "github/token", []byte("x")); !errors.Is(err, vault.ErrSealed) {
			t.Errorf("%s seals with another company's key: %v, want ErrSealed", company, err)
		}
	}
}

// TestVault_AtOnce checks that processes which create a company's first key at the same time all use the same one.
func TestVault_AtOnce(t *testing.T) { onEach(t, testVaultAtOnce) }

func testVaultAtOnce(t *testing.T, keys vault.StoreKeys) {
	access := moto.Access(t)
	arn := awstest.WrappingKey(t, access)
	sealed := make([][]byte, 4)
	var wg sync.WaitGroup
	for i := range sealed {
		wg.Go(func() {
			var err error
			if sealed[i], err = vault.New(kmsvault.New(access, arn), keys, nil).Seal(t.Context(), "a", "l", []byte("secret of a")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, s := range sealed {
		opens(t, vault.New(kmsvault.New(access, arn), keys, nil), "a", "l", s)
	}
}

// TestVault_Forgets checks that a disabled key is out of use after five minutes.
func TestVault_Forgets(t *testing.T) {
	t.Parallel()
	proxy, at := moto.Through(t), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	v := vault.New(kmsvault.New(proxy.Access(), awstest.WrappingKey(t, proxy.Access())), newKeys(t), func() time.Time { return at })
	sealed := seal(t, v, "a", "l")
	proxy.Play(refusal("Decrypt", 1, http.StatusBadRequest, "DisabledException"))
	at = at.Add(5*time.Minute - time.Second)
	opens(t, v, "a", "l", sealed)
	at = at.Add(time.Second)
	_, err := v.Open(t.Context(), "a", "l", sealed)
	unavailable(t, err)
	opens(t, v, "a", "l", sealed) // in use again once KMS permits it
}

func refusal(operation string, times, status int, kind string) awstest.Step {
	return awstest.Step{Operation: operation, Times: times, Status: status, Body: fmt.Sprintf(`{"__type":%q,"message":"no entry for key arn:aws:kms"}`, kind)}
}

// TestVault_Faults checks that transient faults are retried, that others are unavailable, and that no detail names a key.
func TestVault_Faults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		step  awstest.Step
		calls int
		ok    bool
	}{
		{"throttled once", refusal("Decrypt", 1, http.StatusBadRequest, "ThrottlingException"), 2, true},
		{"always throttled", refusal("Decrypt", 99, http.StatusBadRequest, "ThrottlingException"), 0, false},
		{"server fault", refusal("Decrypt", 1, http.StatusInternalServerError, "KMSInternalException"), 2, true},
		{"response lost", awstest.Step{Operation: "Decrypt", Lost: true}, 2, true},
		{"no rights", refusal("Decrypt", 1, http.StatusBadRequest, "AccessDeniedException"), 1, false},
		{"disabled", refusal("Decrypt", 1, http.StatusBadRequest, "DisabledException"), 1, false},
		{"pending deletion", refusal("Decrypt", 1, http.StatusBadRequest, "KMSInvalidStateException"), 1, false},
		{"deleted", refusal("Decrypt", 1, http.StatusBadRequest, "NotFoundException"), 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			proxy, keys := moto.Through(t), newKeys(t)
			arn := awstest.WrappingKey(t, proxy.Access())
			sealed := seal(t, vault.New(kmsvault.New(proxy.Access(), arn), keys, nil), "a", "l")
			before := proxy.Calls("Decrypt")
			proxy.Play(tt.step)
			patience := 30 * time.Second
			if tt.calls == 0 { // it retries until the deadline
				patience = 5 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := vault.New(kmsvault.New(proxy.Access(), arn), keys, nil).Open(ctx, "a", "l", sealed)
			if n := proxy.Calls("Decrypt") - before; tt.calls != 0 && n != tt.calls {
				t.Errorf("%d calls, want %d", n, tt.calls)
			}
			if tt.ok {
				errtest.Must(t, err)
				return
			}
			unavailable(t, err)
			if f, _ := errors.AsType[*fault.Error](err); strings.Contains(f.Detail, "arn:") {
				t.Errorf("detail %q, want no key in it", f.Detail)
			}
		})
	}
}

func TestWrapper_Away(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := kmsvault.New(moto.Access(t), "arn")
	_, err := w.Wrap(ctx, "a", []byte("k"))
	unavailable(t, err)
}

// TestRewrap checks that after a change of the KMS key, Rewrap wraps every company's data key by the new one, while processes
// that know both keys keep working. A failing company is reported and does not stop the others. A second run does the rest.
func TestRewrap(t *testing.T) { onEach(t, testRewrap) }

func testRewrap(t *testing.T, keys vault.StoreKeys) {
	proxy := moto.Through(t)
	access := proxy.Access()
	old, next := awstest.WrappingKey(t, access), awstest.WrappingKey(t, access)
	companies := []string{"a", "b", "c", "d"}
	before, sealed := vault.New(kmsvault.New(access, old), keys, nil), map[string][]byte{}
	for _, c := range companies {
		sealed[c] = seal(t, before, c, "l")
	}
	wrapper := kmsvault.New(access, next, old)
	both := func() vault.Vault { return vault.New(wrapper, keys, nil) }
	sealed["young"] = seal(t, both(), "young", "l")
	walk := func(yield func(string, error) bool) {
		for _, c := range append(companies, "young", "without") {
			if !yield(c, nil) {
				return
			}
		}
	}
	decrypted := proxy.Calls("Decrypt")
	run := func(want vault.Rewrapped, fail ...string) {
		t.Helper()
		var failed []string
		got, err := vault.Rewrap(t.Context(), walk, keys, wrapper, func(company string, _ error) {
			failed = append(failed, company)
		})
		errtest.Must(t, err)
		if got != want {
			t.Errorf("rewrapped %+v, want %+v", got, want)
		}
		if diff := cmp.Diff(fail, failed); diff != "" {
			t.Errorf("failed companies (-want +got):\n%s", diff)
		}
	}
	proxy.Play(refusal("ReEncrypt", 1, http.StatusBadRequest, "AccessDeniedException"))
	run(vault.Rewrapped{Rewrapped: 3, Current: 1, Without: 1, Failed: 1}, "a")
	for c, s := range sealed {
		opens(t, both(), c, "l", s)
	}
	decrypted += len(sealed)
	run(vault.Rewrapped{Rewrapped: 1, Current: 4, Without: 1})
	run(vault.Rewrapped{Current: 5, Without: 1})
	if n := proxy.Calls("Decrypt"); n != decrypted {
		t.Errorf("data keys left KMS %d times, want never", n-decrypted)
	}
	after := vault.New(kmsvault.New(access, next), keys, nil)
	for c, s := range sealed {
		opens(t, after, c, "l", s)
		stays(t, vault.New(kmsvault.New(access, old), keys, nil), c, "l", s)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := vault.Rewrap(ctx, walk, keys, wrapper, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, want the context's error", err)
	}
	if want := (vault.Rewrapped{}); got != want {
		t.Errorf("cancelled: %+v, want %+v", got, want)
	}
}

// racing simulates a concurrent run that rewraps keys between a read and a write.
type racing struct {
	vault.StoreKeys
	t     *testing.T
	w     *kmsvault.Wrapper
	times int
}

func (r *racing) Replace(ctx context.Context, company string, was, wrapped []byte) error {
	if r.times--; r.times >= 0 {
		again, _, err := r.w.Rewrap(ctx, company, was)
		if err := errors.Join(err, r.StoreKeys.Replace(ctx, company, was, again)); err != nil {
			r.t.Error(err)
		}
	}
	return r.StoreKeys.Replace(ctx, company, was, wrapped)
}

// TestRewrap_AtOnce checks that of two concurrent runs one replaces a key, and the other notices.
func TestRewrap_AtOnce(t *testing.T) { onEach(t, testRewrapAtOnce) }

func testRewrapAtOnce(t *testing.T, keys vault.StoreKeys) {
	access := moto.Access(t)
	old, next := awstest.WrappingKey(t, access), awstest.WrappingKey(t, access)
	sealed := seal(t, vault.New(kmsvault.New(access, old), keys, nil), "a", "l")
	wrapper := kmsvault.New(access, next, old)
	one := func(yield func(string, error) bool) { yield("a", nil) }
	got, err := vault.Rewrap(t.Context(), one, &racing{keys, t, wrapper, 1}, wrapper, func(_ string, err error) { t.Error(err) })
	errtest.Must(t, err)
	if want := (vault.Rewrapped{Current: 1}); got != want {
		t.Errorf("rewrapped %+v, want %+v", got, want)
	}
	opens(t, vault.New(kmsvault.New(access, next), keys, nil), "a", "l", sealed)
}
