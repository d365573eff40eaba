package blackbox_test

import (
	"fmt"
	"time"
)

// review waits until a goal drifts although no caller changes it: a timer reviews the goal, and sets the timer of the next review.
func review(j *journey) {
	j.login()
	r := j.endpoint("webhook", "hook", "goal.*")
	// A goal is aligned while its progress, and a twentieth, are at least 0.8 of the share of time that has passed. This one drifts in 15 seconds.
	const half, soon = 1000 * 24 * time.Hour, 14 * time.Second // the review comes a second later
	now := time.Now().UTC()
	progress := 0.8*float64(half+soon)/float64(2*half) - 0.05
	j.deliver(r.secret, "g-1", fmt.Appendf(nil,
		`{"type":"goal.update","data":{"externalId":"q3","title":"Ship","progress":%.17g,"state":"open","startedAt":%q,"dueAt":%q}}`,
		progress, now.Add(-half).Format(time.RFC3339Nano), now.Add(half).Format(time.RFC3339Nano)))
	status := func(want string) func(answer) bool {
		return func(a answer) bool {
			page := decode[struct {
				Items []struct{ Alignment struct{ Status string } }
			}](a.body)
			return len(page.Items) == 1 && page.Items[0].Alignment.Status == want
		}
	}
	j.await("it is reviewed", get(j.at("/goals")), status("drifting"))
	j.received("its events", r, 3, false)
}
