package syncer_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/policyengine"
	"orgops/shared/testkit/githubtest"
	"orgops/shared/webhook/outbound"
)

// TestSyncer_Host sends no request to a host that a policy of the company forbids. The run fails with the reason, and the
// decision is stored. While the policy only logs, the decision that permits is stored with the policy's verdict.
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
	denied := &policy.Shadow{Verdict: policy.Denied, Policies: []string{"known-hosts"}, Reasons: []string{"only api.github.com is known"}}

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
		Verdict: policy.Permitted, Principal: timeline.Reference{Type: "integration", ID: "github"}, Action: policy.SyncFetch,
		Resource: timeline.Reference{Type: policy.Host, ID: "127.0.0.1"}, Policies: []string{"permit-connector-actions"},
		Reasons: []string{"the action is within the permissions of the integration"}, Shadow: denied,
	}, {
		Verdict: policy.Denied, Principal: timeline.Reference{Type: "integration", ID: "github"}, Action: policy.SyncFetch,
		Resource: timeline.Reference{Type: policy.Host, ID: "127.0.0.1"}, Policies: []string{"known-hosts"},
		Reasons: []string{"only api.github.com is known"},
	}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(policy.Decision{}, "ID", "At", "PolicySet")); diff != "" {
		t.Errorf("decisions on fetches differ (-want +got):\n%s", diff)
	}
}

// TestSyncer_HostShadow stores one decision for each host of a run that the log-only policies would forbid, also if the run takes
// several slices and one of its fetches fails.
func TestSyncer_HostShadow(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Put("a", policy.StoredKey, policy.StoredEntity, policy.Stored{Policies: []policy.Statement{{
		ID: "known-hosts", Mode: policy.LogOnly,
		Text: `forbid (principal, action == Action::"sync.fetch", resource) unless { resource == Host::"known.example" };`,
	}}})
	client := outbound.New(outbound.Options{Transport: network{}})
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		for _, host := range []string{"known.example", "a.example", "A.example.", fmt.Sprintf("%d.example", n/2)} {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/", nil)
			if err != nil {
				return connector.FetchedPage{}, err
			}
			answer, err := client.Do(req)
			if err != nil {
				return connector.FetchedPage{}, err
			}
			if err := answer.Body.Close(); err != nil {
				return connector.FetchedPage{}, err
			}
		}
		if r.provider.fetches() == 2 {
			return connector.FetchedPage{}, errDown
		}
		page, err := pages(4, 1)(ctx, n, f)
		page.NotBefore = r.Clock.Now().Add(time.Minute)
		return page, err
	})
	want := []string{"0.example", "1.example", "a.example"}
	for range 2 {
		r.finishLate(r.request(syncrun.Live), syncrun.Succeeded)
		var got []string
		for _, d := range r.decisions() {
			if d.Shadow != nil {
				got = append(got, d.Resource.ID)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("hosts of the stored decisions differ (-want +got):\n%s", diff)
		}
		want = []string{"0.example", "0.example", "1.example", "1.example", "a.example", "a.example"}
	}
}

// network implements http.RoundTripper. It answers every request with an empty page.
type network struct{}

func (network) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}
