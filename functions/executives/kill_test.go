package executives_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// kills is the number of actions that a killed process is in the middle of.
const kills = 200

// breakAt ends the process in its n-th commit from now on. applied says whether that commit is applied. Every later commit
// of the dead process fails.
func (s *service) breakAt(n int, applied bool) {
	s.faulty.Before(func(ops []store.Op) error {
		if n--; n > 0 {
			return nil
		}
		if n == 0 && applied {
			errtest.Must(s.t, s.Store.Commit(s.t.Context(), ops...))
		}
		return store.ErrUnknown
	})
}

// TestAct_Killed ends the process in the commit of an action, before and after the commit is applied. The client repeats the
// request with its key until it has an answer. Every action is then done once, with one decision, one record and its entries on
// the timeline.
func TestAct_Killed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	path := s.certified(s.draft(executive.TimelineNote))
	points := []struct {
		commit  int
		applied bool
	}{{1, false}, {1, true}} // an action is one commit
	failed := 0
	for n := range kills {
		p := points[n%len(points)]
		title := fmt.Sprintf("note-%d", n)
		s.breakAt(p.commit, p.applied)
		first := s.asked(path, title, executive.TimelineNote, map[string]any{"title": title})
		s.faulty.Before(nil)
		if first.Status != 202 {
			failed++
		}
		var r executive.ActionRecord
		s.asked(path, title, executive.TimelineNote, map[string]any{"title": title}).Want(202).JSON(&r)
		if r.State != executive.Done {
			t.Fatalf("%s: state = %s, want done", title, r.State)
		}
	}
	if failed < kills/2 {
		t.Errorf("%d of %d requests failed, want at least half: the process did not end where it should", failed, kills)
	}
	noted, acted := map[string]int{}, 0
	for _, e := range all[timeline.Entry](s, timeline.Prefix) {
		if e.Kind == timeline.Note {
			noted[e.Title]++
		} else {
			acted++
		}
	}
	want := map[string]int{}
	for n := range kills {
		want[fmt.Sprintf("note-%d", n)] = 1
	}
	if diff := cmp.Diff(want, noted); diff != "" {
		t.Errorf("notes differ (-want +got):\n%s", diff)
	}
	got := []int{acted, len(s.decisions()), len(all[executive.ActionRecord](s, executive.RecordPrefix(executive.IDOf("Chief of Staff"))))}
	if diff := cmp.Diff([]int{kills, kills, kills}, got); diff != "" {
		t.Errorf("entries, decisions and records (-want +got):\n%s", diff)
	}
}

// TestApprove_Killed ends the process while an action that needs an approval is asked for, and while it is approved. The client
// and the approver repeat their requests until they have an answer. Every action is then done once: it has one approval, a
// decision before and one after it, one record, and its entries on the timeline.
func TestApprove_Killed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.govern(askFirst)
	path := s.certified(s.draft(executive.TimelineNote))
	failed := 0
	for n := range kills {
		input := map[string]any{"title": fmt.Sprintf("note-%d", n)}
		ask := func() *webtest.Response { return s.asked(path, fmt.Sprint(n), executive.TimelineNote, input) }
		s.breakAt(1+n%2, n%4 < 2)
		if ask().Status != 202 {
			failed++
		}
		s.faulty.Before(nil)
		s.clock.Advance(2 * time.Minute) // the dead process held the key
		var r executive.ActionRecord
		ask().Want(202).JSON(&r)
		s.breakAt(1, n%2 == 0)
		if s.decide(r.ApprovalID, "approve").Status != 200 {
			failed++
		}
		s.faulty.Before(nil)
		switch again := s.decide(r.ApprovalID, "approve"); again.Status {
		case 200:
		case 409:
			again.WantProblem(409, "approval-decided")
		default:
			t.Fatalf("approve again: %d: %s", again.Status, again.Body)
		}
		s.wantState(path, r.ID, executive.Done)
	}
	if failed < kills {
		t.Errorf("%d of %d requests failed, want at least half: the process did not end where it should", failed, 2*kills)
	}
	noted, acted := map[string]int{}, 0
	for _, e := range all[timeline.Entry](s, timeline.Prefix) {
		if e.Kind == timeline.Note {
			noted[e.Title]++
		} else {
			acted++
		}
	}
	got := []int{len(noted), acted, len(s.decisions()), len(all[executive.ActionRecord](s, executive.RecordPrefix(executive.IDOf("Chief of Staff")))), len(all[approval.Approval](s, approval.Prefix))}
	if diff := cmp.Diff([]int{kills, kills, 2 * kills, kills, kills}, got); diff != "" {
		t.Errorf("notes, entries, decisions, records and approvals (-want +got):\n%s", diff)
	}
	for title, n := range noted {
		if n != 1 {
			t.Errorf("%s is noted %d times, want once", title, n)
		}
	}
}
