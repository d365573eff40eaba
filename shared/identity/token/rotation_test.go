package token_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/identity/token"
	"orgops/shared/testkit/errtest"
)

// rotated returns the set after a rotation at start to a key that signs at once.
func rotated(t testing.TB, s token.KeySet, seed byte) token.KeySet {
	t.Helper()
	next, err := s.Rotated(key(t, seed), start, 0)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// kid returns the kid of the key that signed a token.
func kid(t *testing.T, keys token.KeySet, text string) string {
	t.Helper()
	config := token.Config{Issuer: "https://issuer.test", Audience: "orgops", Now: func() time.Time { return start }}
	for _, k := range append([]token.Key{keys.Current}, keys.Previous...) {
		if _, err := token.NewVerifier(config, token.KeySet{Current: k}.Public()).Verify(text); !errors.Is(err, token.ErrUnknownKey) {
			return k.ID()
		}
	}
	return ""
}

func ids(keys token.PublicKeys) []string {
	var all []string
	for _, k := range keys.JWKS().Keys {
		all = append(all, k.Kid)
	}
	return all
}

// TestRotation checks that a key is published before it signs, signs until the next one does, and verifies for as long as
// its tokens are valid. Two rotations in quick succession must not invalidate a token.
func TestRotation(t *testing.T) {
	t.Parallel()
	p, one, two, three := newParts(t), key(t, 1), key(t, 2), key(t, 3)
	set := p.keys
	use := func(next token.KeySet, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		set = next
		p.signer.Use(set)
		p.verifier.Use(set.Public())
	}
	signs := func(after time.Duration, want token.Key) string {
		t.Helper()
		p.clock.Set(start.Add(after))
		text := issue(t, p.signer)
		if got := kid(t, set, text); got != want.ID() {
			t.Errorf("after %s the key %s signs, want %s", after, got, want)
		}
		return text
	}
	verifies := func(after time.Duration, text string, want bool) {
		t.Helper()
		p.clock.Set(start.Add(after))
		_, err := p.verifier.Verify(text)
		if got := err == nil; got != want {
			t.Errorf("after %s: verified = %t, want %t: %v", after, got, want, err)
		}
	}
	use(set.Rotated(two, start, 10*time.Minute))
	signs(0, one)
	signs(9*time.Minute, one)
	use(set.Rotated(three, start.Add(9*time.Minute), 10*time.Minute))
	signs(9*time.Minute, one) // neither two nor three signs yet
	last := signs(10*time.Minute-time.Second, one)
	signs(10*time.Minute, two)
	signs(19*time.Minute-time.Second, two)
	fresh := signs(19*time.Minute, three)
	verifies(69*time.Minute, last, true)
	verifies(78*time.Minute, fresh, true)

	keys := func(after time.Duration, want ...token.Key) {
		t.Helper()
		var names []string
		for _, k := range want {
			names = append(names, k.ID())
		}
		if diff := cmp.Diff(names, ids(set.Public().At(start.Add(after)))); diff != "" {
			t.Errorf("keys after %s (-want +got):\n%s", after, diff)
		}
	}
	keys(130*time.Minute-time.Second, three, two, one)
	keys(130*time.Minute, three, two)
	keys(139*time.Minute, three)
	keys(1000*time.Hour, three)

	four := key(t, 4)
	use(set.Rotated(four, start.Add(135*time.Minute), 0)) // keys that have ended are dropped
	keys(0, four, three, two)
}

func TestRotation_First(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	set, err := token.KeySet{}.Rotated(key(t, 2), start, time.Hour)
	errtest.Must(t, err)
	want := key(t, 2).ID()
	if diff := cmp.Diff([]string{want}, ids(set.Public())); diff != "" {
		t.Fatalf("keys (-want +got):\n%s", diff)
	}
	p.signer.Use(set)
	if got := kid(t, set, issue(t, p.signer)); got != want {
		t.Errorf("the key %s signs at once, want the first key %s", got, want)
	}
}

func TestRotation_Bounded(t *testing.T) {
	t.Parallel()
	set := token.KeySet{Current: key(t, 0)}
	for i := range byte(15) {
		set = rotated(t, set, i+1)
	}
	if _, err := set.Rotated(key(t, 16), start, 0); err == nil {
		t.Error("the sixteenth rotation in a row is accepted, want it refused")
	}
	if _, err := set.Rotated(key(t, 99), start.Add(3*time.Hour), 0); err != nil {
		t.Errorf("refused after the tokens have expired: %v", err)
	}
}

// TestRotation_Stored checks that the times survive both encodings of a set, and that Within drops unpublished keys.
func TestRotation_Stored(t *testing.T) {
	t.Parallel()
	set, err := rotated(t, token.KeySet{Current: key(t, 1)}, 2).Rotated(key(t, 3), start, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	private, err := set.Encode()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := token.DecodeKeySet(private)
	if err != nil {
		t.Fatal(err)
	}
	public, err := decoded.Public().Encode()
	if err != nil {
		t.Fatal(err)
	}
	published, err := token.ParseJWKS(public)
	if err != nil {
		t.Fatal(err)
	}
	within, err := token.KeySet{Current: key(t, 9), Previous: append([]token.Key{key(t, 3)}, key(t, 2))}.Within(published)
	errtest.Must(t, err)
	if diff := cmp.Diff([]string{key(t, 3).ID(), key(t, 2).ID()}, ids(within.Public())); diff != "" {
		t.Fatalf("keys within the published ones (-want +got):\n%s", diff)
	}
	p := newParts(t)
	p.signer.Use(within)
	for after, want := range map[time.Duration]byte{0: 2, time.Minute: 3} {
		p.clock.Set(start.Add(after))
		if got, want := kid(t, set, issue(t, p.signer)), key(t, want).ID(); got != want {
			t.Errorf("after %s the key %s signs, want %s", after, got, want)
		}
	}
	if got := ids(published.At(start.Add(2 * time.Hour))); len(got) != 2 {
		t.Errorf("keys after two hours: %q, want two", got)
	}
	if _, err := (token.KeySet{Current: key(t, 9)}).Within(published); err == nil {
		t.Error("Within accepts a set without published keys")
	}
	tests := []struct {
		name string
		key  token.Key
		want bool
	}{{"a published key", key(t, 3), true}, {"another key", key(t, 9), false}, {"no key", token.Key{}, false}}
	for _, tt := range tests {
		if got := published.Has(tt.key); got != tt.want {
			t.Errorf("Has of %s = %t, want %t", tt.name, got, tt.want)
		}
	}
}
