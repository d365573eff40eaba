package token_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/identity/token"
)

// The expected thumbprint comes from RFC 8037 appendix A.3, for the key of appendix A.1.
func TestParseJWKS_Thumbprint(t *testing.T) {
	t.Parallel()
	const kid = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
	const doc = `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"` + kid + `"}]}`
	keys, err := token.ParseJWKS([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	if set := keys.JWKS(); len(set.Keys) != 1 || set.Keys[0].Kid != kid {
		t.Error(set)
	}
}

func TestParseJWKS(t *testing.T) {
	t.Parallel()
	set := rotated(t, token.KeySet{Current: key(t, 1)}, 2)
	doc, err := json.Marshal(set.Public().JWKS())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := token.ParseJWKS(doc)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(set.Public().JWKS(), keys.JWKS()); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{
		"", "[]", `{"keys":[]}`, `{"keys":[{}]}`, strings.Replace(string(doc), "OKP", "EC", 1),
		strings.Replace(string(doc), set.Current.ID(), "other", 1), strings.Replace(string(doc), `"x":"`, `"x":"AA`, 1),
	} {
		if _, err := token.ParseJWKS([]byte(bad)); err == nil {
			t.Errorf("accepted %s", bad)
		}
	}
}

func TestKey_PrintsNoSecret(t *testing.T) {
	t.Parallel()
	set := rotated(t, token.KeySet{Current: key(t, 1)}, 2)
	asJSON, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	secret := fmt.Sprintf("%v", []byte(private(2))[:8])
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", set, set, set, set), string(asJSON)} {
		if strings.Contains(text, strings.Trim(secret, "[]")) || strings.Contains(text, `"d"`) || strings.Contains(text, "0x2, 0x2") {
			t.Error(text)
		}
	}
}

func TestLoadOrCreateKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	sets := make([]token.KeySet, 8)
	var wg sync.WaitGroup
	for i := range sets { // processes that start at once agree
		wg.Go(func() {
			set, err := token.LoadOrCreateKeys(path)
			if err != nil {
				t.Error(err)
			}
			sets[i] = set
		})
	}
	wg.Wait()
	for _, set := range sets {
		if set.Current.ID() != sets[0].Current.ID() || set.Current.ID() == "" {
			t.Error("two processes have different keys")
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Error("more files than the key file:", entries, err)
	}
	rotated, err := token.Rotate(path, start)
	if err != nil || rotated.Previous[0].ID() != sets[0].Current.ID() || rotated.Current.ID() == sets[0].Current.ID() {
		t.Error(rotated, err)
	}
	loaded, err := token.LoadOrCreateKeys(path)
	if err != nil || loaded.Current.ID() != rotated.Current.ID() || loaded.Previous[0].ID() != rotated.Previous[0].ID() {
		t.Error(loaded, err)
	}
}

func TestLoadOrCreateKeys_Refuses(t *testing.T) {
	t.Parallel()
	good, err := token.KeySet{Current: key(t, 7)}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, content string
		mode          os.FileMode
	}{
		{"readable by the group", string(good), 0o640},
		{"readable by others", string(good), 0o604},
		{"writable by others", string(good), 0o602},
		{"empty", "", 0o600},
		{"not JSON", "secret", 0o600},
		{"no key", `{"current":{}}`, 0o600},
		{"kid of another key", strings.Replace(string(good), key(t, 7).ID(), key(t, 8).ID(), 1), 0o600},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "keys.json")
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			if _, err := token.LoadOrCreateKeys(path); err == nil || strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
		})
	}
}
