package simulate_test

import (
	"encoding/json"
	"slices"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/queue"
)

// note records that an environment has sent a message, and knows it.
func (e *environment) note(m queue.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sent = append(e.sent, string(m.Body))
}

// checkSent checks that an environment of the dispatcher sends the message of a delivery's generation once.
func (w *world) checkSent(q queueOf, m queue.Message) {
	q.e.mu.Lock()
	defer q.e.mu.Unlock()
	if q.q == w.retries && q.e.f.name == "dispatcher" && slices.Contains(q.e.sent, string(m.Body)) {
		w.violated("messages", "%s sends %s again", q.e.name, m.Body)
	}
}

// overdue limits how long two messages of one generation of a delivery may be due: the lease of the message being handled,
// and the delay of the other.
const overdue = 5 * time.Minute

// checkLive checks that no delivery has had two messages for long: the attempt of the first ends both. While the store
// refuses writes, no attempt is recorded.
func (w *world) checkLive() {
	now, due := time.Now(), map[string]int{}
	for _, m := range w.retries.Messages() {
		if m.Due.Add(overdue).Before(now) {
			due[string(m.Body)]++
		}
	}
	for _, body := range sortedKeys(due) {
		var job delivery.Job
		if err := json.Unmarshal([]byte(body), &job); err != nil || due[body] < 2 || job.Delivery == "" {
			continue
		}
		var d delivery.Delivery
		_, err := w.company(job.Company).Get(w.t.Context(), delivery.Prefix+job.Delivery, &d)
		if err == nil && d.Open() && d.Generation == job.Generation && !w.plan.on[hot] && !w.plan.on[outage] {
			w.violated("messages", "%d messages %s have been due for more than %v", due[body], body, overdue)
		}
	}
}
