package memory_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/testkit/errtest"
)

func TestMemories(t *testing.T) {
	t.Parallel()
	s := setup(t)
	all := map[string][]string{}
	for n := range 12 {
		provider, kind := []string{"github", "feed"}[n%2], []string{"issue", "issue", "discussion"}[n%3]
		m, _ := memory.Apply(memory.Memory{}, provider, memory.Draft{ExternalID: fmt.Sprint(n), Kind: kind, Title: fmt.Sprint("Printer ", n%2, " on fire")}, s.now)
		s.put(memory.Key(m.ID), memory.Entity, m)
		for _, filter := range []string{"", "?provider=" + provider, "?kind=" + kind, "?kind=" + kind + "&provider=" + provider} {
			all[filter] = append(all[filter], m.ID)
		}
	}
	all["?provider=webhook"] = nil
	all["?title=PRINTER+1"], all["?title=smoke"], all["?title=fire&provider=github"] = all["?provider=feed"], nil, all["?provider=github"]
	for filter, want := range all {
		slices.Sort(want)
		if diff := cmp.Diff(want, s.list("/memory"+filter).ids()); diff != "" {
			t.Errorf("memories for %q differ (-want +got):\n%s", filter, diff)
		}
	}
	var paged []string
	for cursor := ""; ; {
		p := s.list("/memory?provider=feed&limit=4&cursor=" + cursor)
		paged = append(paged, p.ids()...)
		if cursor = p.NextCursor; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(all["?provider=feed"], paged); diff != "" {
		t.Errorf("memories of all pages differ (-want +got):\n%s", diff)
	}
	s.do("GET", "/memory?limit=0", nil).WantProblem(422, "invalid")
	if got := s.list("/memory?limit=5000"); len(got.Items) != 12 {
		t.Errorf("%d items, want 12", len(got.Items))
	}
	var other page
	s.Do("GET", "/companies/"+s.B.ID+"/memory", s.B.Token, nil).Want(200).JSON(&other)
	if len(other.Items) != 0 {
		t.Errorf("another company has %+v, want nothing", other)
	}
}

// TestMemories_Large lists memories that are too large for one answer of a Lambda, which has at most 6 MB.
func TestMemories_Large(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var want, got []string
	for n := range 60 {
		m, _ := memory.Apply(memory.Memory{}, "feed", memory.Draft{ExternalID: fmt.Sprint(n), Kind: "entry", Title: "Long", Body: strings.Repeat(`"x`, 25_000)}, s.now)
		s.put(memory.Key(m.ID), memory.Entity, m)
		want = append(want, m.ID)
	}
	pages := 0
	for cursor := ""; ; pages++ {
		answer := s.do("GET", "/memory?limit=100&cursor="+cursor, nil).Want(200)
		inside, err := json.Marshal(string(answer.Body))
		errtest.Must(t, err)
		if len(inside) > 6_000_000 {
			t.Fatalf("page %d: %d bytes in a Lambda's answer, want at most 6 MB", pages, len(inside))
		}
		var p page
		answer.JSON(&p)
		got = append(got, p.ids()...)
		if cursor = p.NextCursor; cursor == "" {
			break
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("memories of all pages differ (-want +got):\n%s", diff)
	}
	if pages == 0 {
		t.Error("all memories came on one page, want more")
	}
}

// TestList_Standing tells what integrations that exist have imported from what deleted ones have.
func TestList_Standing(t *testing.T) {
	t.Parallel()
	s := setup(t)
	feed := s.feed(integration.Certified)
	feed.Incarnation = id.New()
	s.put(integration.Key("feed"), integration.Entity, feed)
	memories, goals := map[string][]string{}, map[string][]string{}
	for _, of := range []struct{ provider, incarnation, standing string }{
		{"feed", feed.Incarnation, "current"}, {"feed", "", "deleted"}, {"feed", id.New(), "deleted"}, {"github", "", "deleted"},
	} {
		m, _ := memory.Apply(memory.Memory{}, of.provider, memory.Draft{ExternalID: "1", Incarnation: of.incarnation, Title: "t"}, s.now)
		s.put(memory.Key(m.ID), memory.Entity, m)
		memories[of.standing] = append(memories[of.standing], m.ID)
		g, _ := goal.Apply(goal.Goal{}, of.provider, goal.Draft{ExternalID: "1", Incarnation: of.incarnation, Title: "t", State: goal.Open}, s.now)
		s.put(goal.Key(g.ID), goal.Entity, g)
		goals[of.standing] = append(goals[of.standing], g.ID)
	}
	for list, want := range map[string]map[string][]string{"/memory": memories, "/goals": goals} {
		for standing, ids := range want {
			slices.Sort(ids)
			if diff := cmp.Diff(ids, s.list(list+"?integration="+standing).ids()); diff != "" {
				t.Errorf("%s of %s integrations differ (-want +got):\n%s", list, standing, diff)
			}
		}
	}
	s.do("GET", "/goals?integration=former", nil).WantProblem(422, "invalid")
}

func TestMemory(t *testing.T) {
	t.Parallel()
	s := setup(t)
	want, _ := memory.Apply(memory.Memory{}, "github", memory.Draft{ExternalID: "1", Kind: "issue", Title: "t", Body: "b", URL: "u"}, s.now)
	s.put(memory.Key(want.ID), memory.Entity, want)
	var got memory.Memory
	s.do("GET", "/memory/"+want.ID, nil).Want(200).JSON(&got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("memory differs (-want +got):\n%s", diff)
	}
	s.Do("GET", "/companies/"+s.B.ID+"/memory/"+want.ID, s.B.Token, nil).WantProblem(404, "not-found")
	for _, unknown := range []string{id.New(), "a%23b"} {
		p := s.do("GET", "/memory/"+unknown, nil).WantProblem(404, "not-found")
		if want := "there is no memory with this id"; p.Detail != want {
			t.Errorf("detail %q, want %q", p.Detail, want)
		}
	}
}

func TestGoals(t *testing.T) {
	t.Parallel()
	s := setup(t)
	due := s.now.Add(240 * time.Hour)
	began := s.now.Add(-240 * time.Hour)
	drafts := []goal.Draft{
		{ExternalID: "aligned", Title: "t", State: goal.Open, Progress: 0.9, DueAt: &due, StartedAt: &began},
		{ExternalID: "drifting", Title: "t", State: goal.Open, Progress: 0.3, DueAt: &due, StartedAt: &began},
		{ExternalID: "misaligned", Title: "t", State: goal.Open, DueAt: &due, StartedAt: &began},
		{ExternalID: "closed", Title: "t", State: goal.Closed},
	}
	goals := map[string]goal.Goal{}
	for _, d := range drafts {
		g, _ := goal.Apply(goal.Goal{}, "github", d, s.now)
		goals[d.ExternalID] = g
		s.put(goal.Key(g.ID), goal.Entity, g)
	}
	tests := []struct {
		query string
		want  []string
	}{
		{"", []string{"aligned", "closed", "drifting", "misaligned"}},
		{"?provider=github", []string{"aligned", "closed", "drifting", "misaligned"}},
		{"?provider=feed", nil},
		{"?state=closed", []string{"closed"}},
		{"?status=drifting", []string{"drifting"}},
		{"?status=aligned&state=open", []string{"aligned"}},
	}
	for _, tt := range tests {
		var want []string
		for _, name := range tt.want {
			want = append(want, goals[name].ID)
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, s.list("/goals"+tt.query).ids()); diff != "" {
			t.Errorf("goals for %q differ (-want +got):\n%s", tt.query, diff)
		}
	}
	for _, query := range []string{"?state=done", "?status=late", "?more=1"} {
		s.do("GET", "/goals"+query, nil).WantProblem(422, "invalid")
	}
	var got goal.Goal
	s.do("GET", "/goals/"+goals["drifting"].ID, nil).Want(200).JSON(&got)
	if diff := cmp.Diff(goals["drifting"], got); diff != "" {
		t.Errorf("goal differs (-want +got):\n%s", diff)
	}
	if got.Alignment.Status != goal.Drifting {
		t.Errorf("alignment %q, want %q", got.Alignment.Status, goal.Drifting)
	}
	if n := len(got.Alignment.Reasons); n != 1 {
		t.Errorf("%d reasons, want 1: %v", n, got.Alignment.Reasons)
	}
	p := s.do("GET", "/goals/"+id.New(), nil).WantProblem(404, "not-found")
	if want := "there is no goal with this id"; p.Detail != want {
		t.Errorf("detail %q, want %q", p.Detail, want)
	}
	s.Do("GET", "/companies/"+s.B.ID+"/goals/"+got.ID, s.B.Token, nil).WantProblem(404, "not-found")
}

// TestGet_Damaged answers with an internal error, without its cause, when an item cannot be decoded.
func TestGet_Damaged(t *testing.T) {
	t.Parallel()
	s := setup(t)
	damaged := id.New()
	s.put(goal.Key(damaged), goal.Entity, map[string]string{"dueAt": "s3cr3t"})
	for _, rest := range []string{"/goals", "/goals/" + damaged} {
		if p := s.do("GET", rest, nil).WantProblem(500, "internal"); p.Detail != "internal error" {
			t.Errorf(`%s: detail %q, want "internal error"`, rest, p.Detail)
		}
	}
}
