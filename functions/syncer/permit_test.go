package syncer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/policyengine"
	"orgops/shared/testkit/githubtest"
)

// TestSyncer_Host sends no request to a host that a policy of the company forbids. The run fails with the reason, and the
// decision is stored.
func TestSyncer_Host(t *testing.T) {
	t.Parallel()
	r, server := setupGitHub(t, githubtest.Token)
	forbid := func(mode policy.Mode) {
		r.Put("a", policy.StoredKey, policy.StoredEntity, policy.Stored{Policies: []policy.Statement{{
			ID: "known-hosts", Mode: mode,
			Text: `@reason("only api.github.com is known") forbid (principal, action == Action::"sync.fetch", resource) unless { resource == Host::"api.github.com" };`,
		}}})
		r.Clock.Advance(policyengine.Fresh)
	}
	forbid(policy.LogOnly)
	r.sync(syncrun.Live)
	server.Requests()

	forbid(policy.Enforce)
	run := r.finish(r.request(syncrun.Live), syncrun.Failed)
	if want := "only api.github.com is known"; !strings.Contains(run.Error, want) {
		t.Errorf("the run's error = %q, want one with %q", run.Error, want)
	}
	if got, _ := server.Requests(); len(got) > 0 {
		t.Errorf("the host got the requests %q, want none", got)
	}
	var got []policy.Decision
	for _, d := range r.decisions() {
		if d.Action == policy.SyncFetch {
			got = append(got, d)
		}
	}
	want := []policy.Decision{{
		Verdict: policy.Denied, Principal: timeline.Reference{Type: "integration", ID: "github"}, Action: policy.SyncFetch,
		Resource: timeline.Reference{Type: policy.Host, ID: "127.0.0.1"}, Policies: []string{"known-hosts"},
		Reasons: []string{"only api.github.com is known"},
	}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(policy.Decision{}, "ID", "At", "PolicySet")); diff != "" {
		t.Errorf("decisions on fetches differ (-want +got):\n%s", diff)
	}
}
