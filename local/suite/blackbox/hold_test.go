package blackbox_test

import "time"

// hold checks that deliveries to an endpoint in the sandbox, or disabled, are held, and that a recovery sends them.
func hold(j *journey) {
	j.login()
	j.do("what can be configured", get(j.at("/connectors")))
	source := j.endpoint("webhook", "source", "integration.*")
	r := j.receive("held", newSecret())
	j.register("webhook-held", r, "memory.*")
	at := j.at("/integrations/webhook-held")
	list := at + "/deliveries"
	for n, title := range []string{"One", "Two", "Three"} {
		j.deliver(source.secret, title, ticket(n, title))
		j.settle("held in the sandbox: "+title, get(list+"?state=held"), func(a answer) bool { return items(a) == n+1 })
	}
	j.calm("three are held")
	j.do("health", get(j.at("/mission-control/health")))
	j.do("recommendations", get(j.at("/intelligence/recommendations")))
	j.certify("webhook-held")
	j.calm("it is certified")
	j.do("the report offers to recover them", get(at+"/certification"))
	since := time.Now().Add(-time.Hour).UTC()
	j.mask.recovered = true
	j.do("recover", post(at+"/recover", object{"since": since}))
	j.received("they arrive", r, 3, false)
	j.settle("none is held", get(list+"?state=held"), none)
	j.calm("they have arrived")

	j.do("disable", post(at+"/disable", nil))
	j.deliver(source.secret, "Four", ticket(4, "Four"))
	j.settle("held while it is disabled", get(list+"?state=held"), one)
	j.do("enable", post(at+"/enable", nil))
	asked := j.do("recover the last hour", post(at+"/recover", object{"since": since, "until": time.Now().Add(time.Hour).UTC()}))
	j.received("it arrives", r, 1, false)
	j.settle("it is not held", get(list+"?state=held"), none)
	j.settle("what became of it", get(at+"/recoveries/"+decode[struct{ ID string }](asked.body).ID), func(a answer) bool {
		return ended(a) && decode[struct{ Counts struct{ Delivered int } }](a.body).Counts.Delivered == 1
	})
	j.do("an unknown recovery", get(at+"/recoveries/01890000-0000-7000-8000-000000000000"))

	j.do("the future", post(at+"/recover", object{"since": time.Now().Add(time.Hour).UTC()}))
	j.do("an end before the beginning", post(at+"/recover", object{"since": since, "until": since.Add(-time.Hour)}))
	j.do("no beginning", post(at+"/recover", object{}))
	first := j.do("two a page", get(list+"?limit=2"))
	cursor := decode[struct{ NextCursor string }](first.body).NextCursor
	j.do("the next page", get(list+"?limit=2&cursor="+cursor))
	j.do("a cursor of another filter", get(list+"?limit=2&state=held&cursor="+cursor))
	j.calm("four have arrived")
	j.do("how reliable it was", get(j.at("/operations/reliability")))
	j.do("no dead letters", get(j.at("/operations/dead-letters")))
	j.do("replay none", post(j.at("/operations/dead-letters/replay"), object{"since": since}))
	j.do("replay to an unknown endpoint", post(j.at("/operations/dead-letters/replay"), object{"since": since, "provider": "webhook-gone"}))
	j.do("an erasure under another name", post(j.at("/operations/erasure"), object{"name": "Not " + j.email}))
	j.do("an export with a cursor of nothing", get(j.at("/operations/export?cursor=x")))
	j.do("delete", callDelete(at))
	j.do("its log stays", get(list+"?limit=1"))
}
