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
	"orgops/shared/testkit/errtest"
)

// The expected thumbprint comes from RFC 8037 appendix A.3, for the key of appendix A.1.
func TestParseJWKS_Thumbprint(t *testing.T) {
	t.Parallel()
	const kid = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
	const doc = `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"` + kid + `"}]}`
	keys, err := token.ParseJWKS([]byte(doc))
	errtest.Must(t, err)
	if diff := cmp.Diff([]string{kid}, ids(keys)); diff != "" {
		t.Errorf("kids (-want +got):\n%s", diff)
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
		t.Errorf("key set (-want +got):\n%s", diff)
	}
	for _, bad := range []string{
		"", "[]", `{"keys":[]}`, `{"keys":[{}]}`, strings.Replace(string(doc), "OKP", "EC", 1),
		strings.Replace(string(doc), set.Current.ID(), "other", 1), strings.Replace(string(doc), `"x":"`, `"x":"AA`, 1),
	} {
		if _, err := token.ParseJWKS([]byte(bad)); err == nil {
			t.Errorf("%q accepted, want it refused", bad)
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
	bytes := strings.Trim(fmt.Sprintf("%d", []byte(private(2))[:8]), "[]")
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", set, set, set, set), string(asJSON)} {
		for _, secret := range []string{bytes, `"d"`, "0x2, 0x2"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows %s, want it without", text, secret)
			}
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
	first := sets[0].Current.ID()
	if first == "" {
		t.Error("the key has no id")
	}
	for _, set := range sets {
		if got := set.Current.ID(); got != first {
			t.Errorf("a process has the key %s, want %s as another one", got, first)
		}
	}
	info, err := os.Stat(path)
	errtest.Must(t, err)
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("mode %o, want 600", got)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	errtest.Must(t, err)
	if len(entries) != 1 {
		t.Errorf("files %v, want only the key file", entries)
	}
	rotated, err := token.Rotate(path, start)
	errtest.Must(t, err)
	second := rotated.Current.ID()
	if second == first {
		t.Errorf("key %s after the rotation, want another", second)
	}
	loaded, err := token.LoadOrCreateKeys(path)
	errtest.Must(t, err)
	for name, set := range map[string]token.KeySet{"rotated": rotated, "loaded": loaded} {
		if diff := cmp.Diff([]string{second, first}, ids(set.Public())); diff != "" {
			t.Errorf("%s keys (-want +got):\n%s", name, diff)
		}
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
			_, err := token.LoadOrCreateKeys(path)
			if err == nil {
				t.Error("the file is accepted, want it refused")
			}
			if got := errtest.Message(err); strings.Contains(got, "secret") {
				t.Errorf("error %q, want it without the file's content", got)
			}
		})
	}
}
