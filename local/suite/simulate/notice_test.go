package simulate_test

import (
	"testing"

	"orgops/shared/domain/notice"
)

// checkNotices checks that no notice is lost: each has ended, and each that counts as sent has reached the mail host.
func (w *world) checkNotices(company string) {
	for _, item := range w.items(company, notice.Prefix) {
		var n notice.Stored
		if err := item.Decode(&n); err != nil {
			w.violated("notices", "company %s: %v", company, err)
			return
		}
		mail := n.ID
		if n.JoinedTo != "" {
			mail = n.JoinedTo
		}
		w.told[n.State]++
		switch taken := w.mailed.of(mail); {
		case n.State == notice.Waiting:
			w.violated("notices", "the notice %s of %s still waits", n.ID, company)
		case n.State == notice.Sent && taken == 0:
			w.violated("notices", "the notice %s of %s was never mailed", n.ID, company)
		case taken > n.Attempts && n.JoinedTo == "":
			w.violated("notices", "the notice %s of %s was mailed %d times in %d attempts", n.ID, company, taken, n.Attempts)
		}
	}
}

// TestNotices_Faults counts what faults do to mails: none is lost, and a mail that comes twice has one Message-ID. It fails if no run has
// told a person or has mailed anything twice, because then it proves nothing.
func TestNotices_Faults(t *testing.T) {
	t.Parallel()
	sent, again := 0, 0
	for seed := range uint64(12) {
		w := simulated(t, seed, kinds())
		if w.broken != "" {
			t.Errorf("seed %d violates %s", seed, w.broken)
		}
		sent += w.told[notice.Sent]
		for _, taken := range w.mailed.taken {
			again += taken - 1
		}
	}
	t.Logf("%d notices sent, 0 lost, %d mailed once more after a lost answer", sent, again)
	if sent == 0 {
		t.Error("no notice was sent in any seed")
	}
	if again == 0 {
		t.Error("no mail was sent again in any seed")
	}
}
