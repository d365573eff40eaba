package simulate_test

import (
	"testing"

	"orgops/shared/domain/notice"
)

// checkNotices checks that no notice is lost: each has ended, and each that counts as sent has reached the mail host or Slack.
func (w *world) checkNotices(company string) {
	posts := map[notice.State]int{}
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
		w.checkTurned(company, n)
		if n.JoinedTo != "" {
			w.joined++
		}
		if n.Channel == notice.Slack {
			if n.JoinedTo == "" {
				posts[n.State]++
			}
			continue
		}
		switch taken := w.mailed.of(mail); {
		case n.State == notice.Waiting:
			w.violated("notices", "the notice %s of %s still waits", n.ID, company)
		case n.State == notice.Sent && taken == 0:
			w.violated("notices", "the notice %s of %s was never mailed", n.ID, company)
		case taken > n.Attempts && n.JoinedTo == "":
			w.violated("notices", "the notice %s of %s was mailed %d times in %d attempts", n.ID, company, taken, n.Attempts)
		}
	}
	taken := w.posted.of(channelOf(company))
	if most := posts[notice.Sent] + posts[notice.Failed]; posts[notice.Waiting] > 0 || taken < posts[notice.Sent] || taken > most {
		w.violated("notices", "%d messages reached the channel of %s: the notices are %v", taken, company, posts)
	}
}

// checkTurned checks that a notice which ended because its matter had turned says no more how that stands, or another one has said so.
func (w *world) checkTurned(company string, n notice.Stored) {
	owner := n.UserID
	if n.Channel == notice.Slack {
		owner = notice.SlackBox
	}
	var box notice.Box
	if _, err := w.company(company).Get(w.t.Context(), notice.BoxKey(owner), &box); err != nil || !n.Turns || n.State != notice.Omitted || box.Told[n.About].Turn != n.Name {
		return
	}
	for _, item := range w.items(company, notice.Prefix) {
		var other notice.Stored
		if err := item.Decode(&other); err == nil && other.Name == n.Name && other.About == n.About && other.UserID == n.UserID && other.State != notice.Omitted {
			return
		}
	}
	w.violated("notices", "%s of %s was never told to %s: %s", n.Name, n.About, owner, n.Reason)
}

// TestNotices_Faults counts what faults do to mails: none is lost, and a mail that comes twice has one Message-ID. It fails if no run has
// told a person or has mailed anything twice, because then it proves nothing.
func TestNotices_Faults(t *testing.T) {
	t.Parallel()
	sent, again, joined := 0, 0, 0
	for seed := range uint64(12) {
		w := simulated(t, seed, append(kinds(), crowded))
		if w.broken != "" {
			t.Errorf("seed %d violates %s", seed, w.broken)
		}
		sent += w.told[notice.Sent]
		joined += w.joined
		for _, taken := range w.mailed.taken {
			again += taken - 1
		}
	}
	t.Logf("%d notices sent, 0 lost, %d mailed once more after a lost answer", sent, again)
	if joined == 0 {
		t.Error("no notice went with another one in any seed")
	}
	if sent == 0 {
		t.Error("no notice was sent in any seed")
	}
	if again == 0 {
		t.Error("no mail was sent again in any seed")
	}
}
