package blackbox_test

import (
	"net/http"
	"time"
)

// retry checks that a delivery that fails is retried after about five seconds under the same id, and at once on request. An
// endpoint whose receiver answers 410 is disabled.
func retry(j *journey) {
	j.login()
	r := j.endpoint("webhook", "hook", "memory.created")
	r.answer(func(try int) int {
		if try == 1 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	began := time.Now()
	j.deliver(r.secret, "m-1", ticket(1, "Printer on fire"))
	list := j.at("/integrations/webhook/deliveries")
	first := j.settle("the first attempt has failed", get(list+"?state=scheduled"), one)
	id := firstID(first)
	j.settle("the second has arrived", get(list+"?state=delivered"), one)
	if waited := time.Since(began); waited < 4*time.Second {
		j.t.Errorf("the second attempt came after %v", waited)
	}
	j.received("both were the same", r, 2, true)
	j.do("its log", get(list+"/"+id))
	j.calm("both are counted")

	j.do("once more", post(list+"/"+id+"/retry", nil))
	j.settle("a third has arrived", get(list+"/"+id), func(a answer) bool {
		return len(decode[struct{ Attempts []any }](a.body).Attempts) == 3
	})
	j.received("it was the same again", r, 1, true)
	j.do("no such delivery", post(list+"/none/retry", nil))

	r.answer(func(int) int { return http.StatusGone })
	j.deliver(r.secret, "m-2", ticket(2, "Printer gone"))
	j.received("a receiver that has gone", r, 1, true)
	j.settle("ends the delivery", get(list+"?state=failed"), one)
	j.await("it is disabled", get(j.at("/integrations/webhook")), func(a answer) bool {
		return !decode[struct{ Enabled bool }](a.body).Enabled
	})
	j.calm("and the endpoint")
	j.do("it is disabled", get(j.at("/integrations/webhook")))
	r.answer(nil)
	j.peek(post(j.at("/integrations/webhook/enable"), nil))
	since := time.Now().Add(-time.Hour).UTC()
	j.mask.recovered = true
	j.do("recover", post(j.at("/integrations/webhook/recover"), object{"since": since}))
	j.received("what failed arrives", r, 1, true)
	j.settle("nothing has failed", get(list+"?state=failed"), none)
	j.calm("all has arrived")
	j.do("the health", get(j.at("/mission-control/health")))
}

// one and none report whether an answer lists one item, or none.
func one(a answer) bool  { return items(a) == 1 }
func none(a answer) bool { return a.status == http.StatusOK && items(a) == 0 }

func items(a answer) int { return len(decode[struct{ Items []any }](a.body).Items) }

func firstID(a answer) string {
	page := decode[struct{ Items []struct{ DeliveryID string } }](a.body)
	if len(page.Items) == 0 {
		return "none"
	}
	return page.Items[0].DeliveryID
}
