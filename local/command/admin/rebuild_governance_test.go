package admin_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
	"orgops/shared/insight/rebuild"
	"orgops/shared/testkit/errtest"
)

// TestCompany_Governance rebuilds a context whose company has policies and a pending approval. Both stay in it.
func TestCompany_Governance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		now := time.Now().UTC()
		asks := timeline.Reference{Type: "integration", ID: "feed"}
		a := approval.New(policy.Decision{ID: "d", At: now, Principal: asks, Action: "goal.update", ActionDigest: "digest"}, []byte("{}"), "Ship", asks)
		errtest.Must(t, w.c.Commit(t.Context(), append(a.Request(w.c, 0), policy.Save(w.c, 0, policy.Stored{Policies: make([]policy.Statement, 2), UpdatedAt: now}))...))
		w.project(10)
		before, _, err := projection.Load(t.Context(), w.c)
		errtest.Must(t, err)
		if before.Governance.Policies != 2 {
			t.Fatalf("%d policies before the rebuild, want 2", before.Governance.Policies)
		}
		if n := len(before.Governance.Waiting); n != 1 {
			t.Fatalf("%d approvals wait before the rebuild, want 1", n)
		}
		done, over := make(chan struct{}), make(chan struct{})
		go func() { w.folding(done); close(over) }()
		_, err = rebuild.Company(t.Context(), w.c, time.Now, func(int) {})
		close(done)
		<-over
		errtest.Must(t, err)
		after, _, err := projection.Load(t.Context(), w.c)
		errtest.Must(t, err)
		if diff := cmp.Diff(before.Governance, after.Governance); diff != "" {
			t.Errorf("governance (-before +after the rebuild):\n%s", diff)
		}
	})
}

// folding folds changes until done is closed. It writes none.
func (w *world) folding(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(10 * time.Millisecond):
			w.project(10)
		}
	}
}
