package passkey_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/identity/passkey"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/passkeytest"
)

// TestParty takes passkeys of the pages of the service's own address. A service on this machine is known as localhost.
func TestParty(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][2]string{ // the name, and the origin of the pages
		"https://api.example.com":                     {"api.example.com", "https://api.example.com"},
		"https://x.execute-api.eu.amazonaws.com/prod": {"x.execute-api.eu.amazonaws.com", "https://x.execute-api.eu.amazonaws.com"},
		"https://api.example.com:8443":                {"api.example.com", "https://api.example.com:8443"},
		"http://127.0.0.1:4000":                       {"localhost", "http://localhost:4000"},
		"http://[::1]":                                {"localhost", "http://localhost"},
		"http://localhost:4000":                       {"localhost", "http://localhost:4000"},
		"http://api.example.com":                      {},
		"https://192.0.2.7":                           {},
		"":                                            {},
	} {
		party, ok := passkey.NewParty(address, "Mission Control")
		if ok != (want[0] != "") {
			t.Errorf("%s: a party = %t, want %t", address, ok, want[0] != "")
		}
		if !ok {
			continue
		}
		options := party.Creation(passkey.NewChallenge(), "h", "ada@example.com", nil, time.Minute)
		if options.Party.ID != want[0] {
			t.Errorf("%s: name %s, want %s", address, options.Party.ID, want[0])
		}
		if _, made := register(t, party, "h", passkeytest.New(t, want[1])); !made {
			t.Errorf("%s: a passkey of %s was refused", address, want[1])
		}
		if _, made := register(t, party, "h", passkeytest.New(t, "https://evil.example")); made {
			t.Errorf("%s: a passkey of another page was taken", address)
		}
	}
}

func register(t *testing.T, party passkey.Party, handle string, p *passkeytest.Passkey) (passkey.Key, bool) {
	t.Helper()
	challenge := passkey.NewChallenge()
	made, err := json.Marshal(p.Create(party.Creation(challenge, handle, "ada@example.com", nil, time.Minute)))
	errtest.Must(t, err)
	return party.Register(challenge, handle, made)
}

// TestParty_LongKey refuses a key so long that each login would take much time. The body of the request has room for such keys.
func TestParty_LongKey(t *testing.T) {
	t.Parallel()
	const origin = "https://api.example.com"
	party, _ := passkey.NewParty(origin, "Mission Control")
	for bits, accepted := range map[int]bool{2048: true, 8192: true, 16384: false, 65536: false} {
		p := passkeytest.New(t, origin)
		p.RSA = bits
		if _, made := register(t, party, "h", p); made != accepted {
			t.Errorf("a key of %d bits: taken = %t, want %t", bits, made, accepted)
		}
	}
}

// TestParty_Verify counts signatures up, and refuses a count that went back.
func TestParty_Verify(t *testing.T) {
	t.Parallel()
	party, _ := passkey.NewParty("https://api.example.com", "Mission Control")
	p := passkeytest.New(t, "https://api.example.com")
	key, made := register(t, party, "h", p)
	if !made {
		t.Fatal("the passkey was refused")
	}
	sign := func() (passkey.Key, bool, error) {
		challenge := passkey.NewChallenge()
		signed, err := json.Marshal(p.Get(party.Request(challenge, []passkey.Key{key}, time.Minute)))
		errtest.Must(t, err)
		return party.Verify(challenge, "h", key, signed)
	}
	for want := range uint32(3) {
		used, signed, err := sign()
		errtest.Must(t, err)
		if !signed {
			t.Fatal("the signature was refused")
		}
		if key = used; key.Counter != want+1 {
			t.Errorf("counter = %d, want %d", key.Counter, want+1)
		}
	}
	p.Counter = 1
	if _, _, err := sign(); !errors.Is(err, passkey.ErrCopied) {
		t.Errorf("a count that went back: %v, want ErrCopied", err)
	}
	if diff := cmp.Diff([]string{"internal"}, key.Transports); diff != "" {
		t.Errorf("transports differ (-want +got):\n%s", diff)
	}
}

// FuzzParty refuses what a browser did not make, without a panic.
func FuzzParty(f *testing.F) {
	party, _ := passkey.NewParty("https://api.example.com", "Mission Control")
	challenge := passkey.NewChallenge()
	f.Add([]byte(`{"id":"AQ","rawId":"AQ","type":"public-key","response":{"clientDataJSON":"e30","authenticatorData":"AA","signature":"AA"}}`))
	f.Add([]byte(`{"id":"AQ","rawId":"AQ","type":"public-key","response":{"clientDataJSON":"e30","attestationObject":"oA"}}`))
	f.Add([]byte(`{"response":null}`))
	f.Fuzz(func(t *testing.T, response []byte) {
		if _, made := party.Register(challenge, "h", response); made {
			t.Error("a passkey was made of nothing")
		}
		if _, signed, _ := party.Verify(challenge, "h", passkey.Key{ID: []byte{1}}, response); signed {
			t.Error("a signature was made of nothing")
		}
	})
}
