package syncer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/manifest"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// describe stores a manifest of company a's own for a version, and a certified integration of its kind.
func (r *running) describe(url, title string, version int64) {
	r.T.Helper()
	raw := json.RawMessage(fmt.Sprintf(`{"kind":"tickets","title":%q,"description":"Tickets.","base":%q,
		"streams":[{"name":"tickets","records":"/data","paging":{"type":"cursor","pointer":"/next","parameter":"after"},"item":{"target":"memory","id":"/id","title":"/id"}}]}`, title, url))
	c := store.For(r.Harness.Store, "a")
	digest := connector.Digest(raw)
	errtest.Must(r.T, c.Commit(r.T.Context(), integration.SaveManifest(c, version, integration.StoredManifest{Kind: "tickets", Manifest: raw, Digest: digest})))
	ports, now := []integration.Port{integration.SyncPull, integration.MemoryUpsert}, r.Clock.Now()
	r.Put("a", integration.Key(r.named), integration.Entity, integration.Integration{
		Provider: r.named, Kind: "tickets", State: integration.Certified, Enabled: true, Permissions: ports, Config: json.RawMessage(`{}`), Manifest: &integration.ManifestRef{Digest: digest},
		Certification: &integration.Certification{PassedAt: now, ExpiresAt: now.Add(integration.CertifiedFor), Ports: ports},
	})
}

// TestOwnManifest syncs by a manifest of the company's own. A run ends when the manifest changes between two of its pages.
func TestOwnManifest(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Connectors, r.named = connector.New().With(manifest.NewOwn(r.Client, r.Clock.Now)), "tickets-support"
	var server *httptest.Server
	changes := false
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		after := req.URL.Query().Get("after")
		next := map[string]string{"": `"1"`, "1": "null"}[after]
		if changes && after == "1" {
			r.describe(server.URL, "Changed", 1)
			next = `"2"`
		}
		fmt.Fprintf(w, `{"data":[{"id":"ticket %s"}],"next":%s}`, after, next)
	}))
	defer server.Close()
	r.describe(server.URL, "Tickets", 0)
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 2, Fetched: 2, Created: 2})

	changes = true
	j := r.request(syncrun.Live)
	r.handle(j)
	if got, want := r.ended(j, syncrun.Failed).Error, "the configuration was changed while the sync was under way"; !strings.Contains(got, want) {
		t.Errorf("error %q, want one with %q", got, want)
	}
}
