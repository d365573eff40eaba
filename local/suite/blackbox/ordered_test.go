package blackbox_test

import "net/http"

// ordered checks that an ordered endpoint receives the second event about a memory only after the first one, and that what
// waits can be seen.
func ordered(j *journey) {
	j.login()
	r := j.endpoint("webhook", "ordered", "memory.*")
	config := object{"url": r.url, "events": []string{"memory.*"}, "signingSecret": r.secret, "ordered": true}
	j.do("make it ordered", post(j.at("/integrations/webhook"), config))
	j.calm("it is ordered")
	r.answer(func(int) int { return http.StatusInternalServerError })
	j.deliver(r.secret, "m-1", ticket(1, "Printer on fire"))
	j.deliver(r.secret, "m-2", ticket(1, "Printer repaired"))
	j.deliver(r.secret, "m-3", ticket(1, "Printer sold"))
	list := j.at("/integrations/webhook/deliveries")
	j.await("the first attempt has failed", get(list+"?state=scheduled"), func(a answer) bool {
		page := decode[struct{ Items []struct{ Attempt int } }](a.body)
		return len(page.Items) == 1 && page.Items[0].Attempt > 0
	})
	waiting := j.settle("the others wait", get(list+"?state=waiting"), func(a answer) bool { return items(a) == 2 })
	last := firstID(waiting)
	j.do("the last one's place", get(list+"/"+last))
	j.do("it cannot overtake", post(list+"/"+last+"/retry", nil))
	r.answer(nil)
	head := firstID(j.peek(get(list + "?state=scheduled")))
	j.peek(post(list+"/"+head+"/retry", nil))
	j.received("all arrive", r, 3, false)
	j.settle("nothing waits", get(list+"?state=waiting"), none)
	j.settle("it stands in no line", get(list+"/"+last), func(a answer) bool {
		return decode[struct{ State string }](a.body).State == "delivered"
	})
}
