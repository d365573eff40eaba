package blackbox_test

import "net/http"

// resume checks that an endpoint which asks for a wait gets one, that everyone sees why its deliveries wait, and that a founder can
// end the wait.
func resume(j *journey) {
	j.login()
	r := j.endpoint("webhook", "hook", "memory.created")
	at := j.at("/integrations/webhook")
	list := at + "/deliveries"
	j.do("it does not pause", post(at+"/resume", nil))
	r.wait("3600")
	r.answer(func(int) int { return http.StatusTooManyRequests })
	j.deliver(r.secret, "m-1", ticket(1, "Printer on fire"))
	j.settle("the first attempt has failed", get(list+"?state=scheduled"), one)
	j.received("it came once", r, 1, true)
	j.settle("it is paused", get(at), func(a answer) bool {
		return decode[struct{ Paused *object }](a.body).Paused != nil
	})
	j.deliver(r.secret, "m-2", ticket(2, "Printer gone"))
	j.settle("the second one waits too", get(list+"?state=scheduled"), func(a answer) bool { return items(a) == 2 })
	j.settle("of all endpoints", get(j.at("/deliveries?state=scheduled")), func(a answer) bool { return items(a) == 2 })
	r.answer(nil)
	member := j.colleague("member")
	j.do("a member resumes", post(at+"/resume", nil).bearing("member", member))
	j.mask.recovered = true
	j.do("a founder resumes", post(at+"/resume", nil))
	j.received("both arrive", r, 2, true)
	j.settle("none waits", get(list+"?state=scheduled"), none)
	j.calm("both are counted")
	j.settle("it is not paused", get(at), func(a answer) bool {
		is := decode[struct {
			Paused *object
			Health struct{ LastSuccessAt string }
		}](a.body)
		return is.Paused == nil && is.Health.LastSuccessAt != ""
	})
}
