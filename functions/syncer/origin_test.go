package syncer_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/httplist"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// between runs a change once, before the read of a key, which comes after those of all others.
type between struct {
	store.Store
	key    string
	change func()
	once   sync.Once
}

// Get implements store.Store.
func (b *between) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	if key == b.key {
		b.once.Do(b.change)
	}
	return b.Store.Get(ctx, p, key)
}

// GetMany implements store.Store.
func (b *between) GetMany(ctx context.Context, p store.Partition, keys []string) ([]store.Item, error) {
	others := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == b.key })
	first, err := b.Store.GetMany(ctx, p, others)
	if len(others) == len(keys) || err != nil {
		return first, err
	}
	b.once.Do(b.change)
	last, err := b.Store.GetMany(ctx, p, []string{b.key})
	return append(first, last...), err
}

// TestSyncer_Origin points a source at another server, with credentials for that one, after a worker has read its configuration
// and before it reads the credentials. The credentials of the new server do not reach the old one.
func TestSyncer_Origin(t *testing.T) {
	t.Parallel()
	r := setup(t)
	var mu sync.Mutex
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, req.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	const format = `{"url":%q,"itemsPath":"","idPath":"/id","titlePath":"/title","target":"memory","auth":"bearer"}`
	r.connect(httplist.New(r.Client, r.Clock.Now), fmt.Sprintf(format, server.URL), map[string]string{"token": "first"})
	company := store.For(r.Harness.Store, "a")
	r.Syncer.Store = &between{Store: r.faulty, key: integration.CredentialKey("http"), change: func() {
		_, version, err := integration.LoadSecrets(t.Context(), company, r.Syncer.Vault, "http")
		errtest.Must(t, err)
		op, err := integration.SaveSecrets(t.Context(), company, r.Syncer.Vault, integration.Integration{Provider: "http"}, version,
			integration.Secrets{Values: map[string]string{"token": "second"}, Origin: "https://other.example.com:443"})
		errtest.Must(t, err)
		errtest.Must(t, company.Commit(t.Context(), op))
	}}
	j := r.request(syncrun.Live)
	r.handle(j)
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 0 {
		t.Errorf("the old server saw the credentials %q, want no request", seen)
	}
	if got, want := r.ended(j, syncrun.Failed).Error, "the credential token is not stored"; !strings.Contains(got, want) {
		t.Errorf("the run's error is %q, want one with %q", got, want)
	}
}
