package inbound_test

import (
	"fmt"
	"testing"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/testkit/errtest"
)

// ticketOf returns an arrival that upserts a memory.
func ticketOf(id int, title string) string {
	return fmt.Sprintf(`{"type":"memory.upsert","data":{"externalId":"%d","kind":"ticket","title":%q}}`, id, title)
}

// first returns the memory of ticket 0.
func (s *service) first() memory.Memory {
	s.t.Helper()
	var m memory.Memory
	_, err := s.company().Get(s.t.Context(), memory.Key(memory.IDOf("webhook", s.incarnation("webhook"), "0")), &m)
	errtest.Must(s.t, err)
	return m
}

// TestReceive_Streak sends arrivals that make new items, after which the next one is presumed to make one too. What is stored and
// answered does not depend on whether the presumption is right.
func TestReceive_Streak(t *testing.T) {
	t.Parallel()
	const streak = 3
	start := func(t *testing.T) *service {
		s := setup(t)
		s.certified()
		for n := range streak {
			s.wantReceipt(s.sent(s.send("webhook", secret, fmt.Sprint("s", n), ticketOf(n, "a")), 202), "memory.upsert permitted created")
		}
		s.commits.looks.Store(0)
		return s
	}
	tests := []struct {
		name, body string
		want       []string
		looks      int64 // for memories
		stored     int
	}{
		{"another new item", ticketOf(9, "a"), []string{"memory.upsert permitted created"}, 0, streak + 1},
		{"a changed item", ticketOf(0, "b"), []string{"memory.upsert permitted updated"}, 1, streak},
		{"an unchanged item", ticketOf(0, "a"), []string{"memory.upsert permitted unchanged"}, 1, streak},
		{"a new and a changed item", `{"type":"memory.upsert","data":[{"externalId":"9","kind":"ticket","title":"a"},{"externalId":"0","kind":"ticket","title":"b"}]}`,
			[]string{"memory.upsert permitted created", "memory.upsert permitted updated"}, 2, streak + 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			before := s.first()
			s.clock.Advance(time.Second)
			s.wantReceipt(s.sent(s.send("webhook", secret, "d", tt.body), 202), tt.want...)
			if got := s.commits.looks.Load(); got != tt.looks {
				t.Errorf("%d reads of memories, want %d", got, tt.looks)
			}
			s.wantItems(memory.Prefix, tt.stored)
			if after := s.first(); !after.CreatedAt.Equal(before.CreatedAt) {
				t.Errorf("createdAt = %v, want that of before, %v", after.CreatedAt, before.CreatedAt)
			}
			repeat := 200
			if tt.want[0] == "memory.upsert permitted unchanged" {
				repeat = 202 // it is looked at again, because it took no effect
			}
			s.send("webhook", secret, "d", tt.body).Want(repeat)
		})
	}
	t.Run("ends with an update", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		s.sent(s.send("webhook", secret, "d1", ticketOf(0, "b")), 202)
		s.commits.looks.Store(0)
		s.sent(s.send("webhook", secret, "d2", ticketOf(9, "a")), 202)
		if got := s.commits.looks.Load(); got != 1 {
			t.Errorf("%d reads of memories, want 1", got)
		}
	})
	t.Run("an unchanged item needs no approval", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		s.govern(askForAll)
		s.wantReceipt(s.sent(s.send("webhook", secret, "d", ticketOf(0, "a")), 202), "memory.upsert needs-approval unchanged")
	})
	t.Run("the sandbox shows what would happen", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		s.edit("webhook", func(i *integration.Integration) { *i = i.Sandboxed("configuration", s.clock.Now()) })
		s.wantReceipt(s.sent(s.send("webhook", secret, "d", ticketOf(0, "b")), 202), "sandboxed", "memory.upsert permitted updated")
	})
}
