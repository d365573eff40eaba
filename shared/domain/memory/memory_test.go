package memory_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/testkit/errtest"
)

func TestApply(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := memory.Draft{ExternalID: "7", Kind: "issue", Title: "Printer on fire", Body: "It burns."}
	expect := func(step string, want, got memory.Memory, wantChanged, changed bool) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(memory.Memory{}, "ContentHash")); diff != "" {
			t.Errorf("%s: memory differs (-want +got):\n%s", step, diff)
		}
		if changed != wantChanged {
			t.Errorf("%s: changed = %t, want %t", step, changed, wantChanged)
		}
	}
	first, changed := memory.Apply(memory.Memory{}, "github", d, now)
	want := memory.Memory{
		ID: memory.IDOf("github", "", "7"), Provider: "github", ExternalID: "7", Kind: "issue", Title: "Printer on fire", Body: "It burns.",
		CreatedAt: now, UpdatedAt: now,
	}
	expect("new", want, first, true, changed)
	again, changed := memory.Apply(first, "github", d, now.Add(time.Hour))
	expect("the same content", want, again, false, changed)
	d.Title, want.Title, want.UpdatedAt = "Printer out", "Printer out", now.Add(time.Hour)
	second, changed := memory.Apply(first, "github", d, now.Add(time.Hour))
	expect("another title", want, second, true, changed)
	if id := memory.IDOf("github", "", "7"); id == memory.IDOf("feed", "", "7") {
		t.Errorf("id %s of two providers, want one of its own for each", id)
	}
}

// TestApply_Work keeps the goal that a memory is work on, and how far the work is.
func TestApply_Work(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var m memory.Memory
	for _, step := range []struct {
		goal    string
		given   memory.Work
		want    memory.Work
		changed bool
	}{
		{"", memory.WorkBlocked, "", true}, // without a goal it is no work
		{"m/1", "", memory.WorkOpen, true},
		{"m/1", memory.WorkOpen, memory.WorkOpen, false},
		{"m/1", memory.WorkBlocked, memory.WorkBlocked, true},
		{"m/1", memory.WorkDone, memory.WorkDone, true},
		{"m/2", memory.WorkDone, memory.WorkDone, true},
		{"", "", "", true},
	} {
		next, changed := memory.Apply(m, "github", memory.Draft{ExternalID: "7", Title: "T", Goal: step.goal, Work: step.given}, now)
		if changed != step.changed {
			t.Errorf("%+v: changed = %t, want %t", step, changed, step.changed)
		}
		wantGoal := ""
		if step.goal != "" {
			wantGoal = goal.IDOf("github", "", step.goal)
		}
		want := memory.Memory{GoalID: wantGoal, Work: step.want}
		if diff := cmp.Diff(want, memory.Memory{GoalID: next.GoalID, Work: next.Work}); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", step, diff)
		}
		m = next
	}
	problems := memory.Draft{ExternalID: "7", Title: "T", Goal: strings.Repeat("g", 513), Work: "later"}.Check("/data")
	if got := len(problems); got != 2 {
		t.Errorf("%d problems, want 2: %v", got, problems)
	}
}

func TestApply_LongText(t *testing.T) {
	t.Parallel()
	d := memory.Draft{ExternalID: "7", Kind: "issue", Title: strings.Repeat("é", 1000), Body: strings.Repeat("語", 40_000), URL: strings.Repeat("u", 5000)}
	m, changed := memory.Apply(memory.Memory{}, "github", d, time.Now())
	if !changed {
		t.Fatal("Apply reports a new memory as unchanged")
	}
	for _, field := range []struct {
		name, text string
		most       int
	}{{"title", m.Title, 1024}, {"body", m.Body, 64 << 10}, {"url", m.URL, 0}} {
		if n := len(field.text); n > field.most {
			t.Errorf("%s of %d bytes, want at most %d", field.name, n, field.most)
		}
		if !utf8.ValidString(field.text) {
			t.Errorf("%s cut within a character, want it cut between two", field.name)
		}
	}
	if _, changed := memory.Apply(m, "github", d, time.Now()); changed {
		t.Error("Apply reports the same long content as changed")
	}
}

// TestApply_EscapedText checks that thirty memories fit one commit, however much of their text JSON escapes.
func TestApply_EscapedText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"<", "\x00", "\u2028", "\"", "\n", "é", "\xff", "x"} {
		body := strings.Repeat(text, (64<<10)/len(text))
		m, _ := memory.Apply(memory.Memory{}, "github", memory.Draft{ExternalID: "7", Title: "t", Body: body}, time.Now())
		encoded, err := json.Marshal(m)
		errtest.Must(t, err)
		if n := len(encoded); n > 91<<10 {
			t.Errorf("%q: %d bytes, want at most %d", text, n, 91<<10)
		}
		want := len(body) < 44<<10 || text == "é" || text == "x"
		if whole := m.Body == body; whole != want {
			t.Errorf("%q: whole body of %d bytes kept = %t, want %t", text, len(body), whole, want)
		}
	}
}

func TestDraft_Check(t *testing.T) {
	t.Parallel()
	if p := (memory.Draft{}).Check(""); len(p) != 2 {
		t.Errorf("an empty draft has problems %v, want two", p)
	}
	if p := (memory.Draft{ExternalID: "7", Title: "x"}).Check(""); len(p) != 0 {
		t.Errorf("a good draft has problems %v, want none", p)
	}
}
