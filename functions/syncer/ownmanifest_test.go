package syncer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/manifest"
	"orgops/shared/provider/policyengine"
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

// TestOwnManifest_deleted removes what a record says is deleted, in a run that lists only what has changed. The policies decide about it,
// and nothing that is newer is removed.
func TestOwnManifest_deleted(t *testing.T) {
	t.Parallel()
	const live = `{"id":"1","t":"One","at":"2026-03-01T00:00:00Z"},{"id":"2","t":"Two","at":"2026-03-01T00:00:00Z"}`
	tests := map[string]struct {
		changes, policy string
		left            []string
		want            syncrun.Progress
	}{
		"deleted":             {`{"id":"1","gone":true}`, "", []string{"2"}, syncrun.Progress{Pages: 1, Deleted: 1}},
		"never stored":        {`{"id":"3","gone":true}`, "", []string{"1", "2"}, syncrun.Progress{Pages: 1}},
		"without an id":       {`{"gone":true}`, "", []string{"1", "2"}, syncrun.Progress{Pages: 1}},
		"listed too":          {`{"id":"1","gone":true},{"id":"1","t":"Changed"}`, "", []string{"2"}, syncrun.Progress{Pages: 1, Fetched: 1, Unchanged: 1, Deleted: 1}},
		"an older deletion":   {`{"id":"1","gone":true,"at":"2026-02-01T00:00:00Z"}`, "", []string{"1", "2"}, syncrun.Progress{Pages: 1}},
		"the policies say no": {`{"id":"1","gone":true}`, `forbid (principal, action == Action::"memory.delete", resource);`, []string{"1", "2"}, syncrun.Progress{Pages: 1, Fetched: 1, Failed: 1}},
	}
	for _, form := range []string{`"item":{"target":"memory","id":"/id","title":"/t","updatedAt":"/at"}`,
		`"mapping":{"rules":[{"when":"true","action":"memory.upsert","with":{"externalId":".item.id","title":".item.t","updatedAt":".item.at"}}]}`} {
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					records := live
					if req.URL.Query().Get("since") != "" {
						records = tt.changes
					}
					fmt.Fprintf(w, `[%s]`, records)
				}))
				t.Cleanup(server.Close)
				r := setup(t)
				m, err := manifest.Parse(fmt.Appendf(nil, `{"kind":"tickets","title":"Tickets","description":"Tickets.","base":%q,"streams":[
					{"name":"tickets","records":"","deleted":{"pointer":"/gone"},"incremental":{"parameter":"since","form":"rfc3339"},%s}]}`, server.URL, form))
				errtest.Must(t, err)
				r.connect(manifest.New(m.Kind, func() *manifest.Manifest { return m }, r.Client, r.Clock.Now), `{}`, nil)
				r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1, Fetched: 2, Created: 2})
				r.Put("a", policy.StoredKey, policy.StoredEntity, policy.Stored{Policies: []policy.Statement{{ID: "p", Mode: policy.Enforce, Text: tt.policy}}})
				if tt.policy == "" {
					r.Put("a", policy.StoredKey, policy.StoredEntity, policy.Stored{})
				}
				r.Clock.Advance(policyengine.Fresh)
				r.wantProgress(r.sync(syncrun.Live), tt.want)
				r.wantStored(tt.left...)
				r.wantProgress(r.sync(syncrun.Sandbox), syncrun.Progress{Pages: 1, Fetched: 2})
			})
		}
	}
}
