package blackbox_test

import "time"

// hold checks that deliveries to an endpoint in the sandbox, or disabled, are held, and that a recovery sends them.
func hold(j *journey) {
	j.login()
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
	j.do("recover", post(at+"/recover", object{"since": since}))
	j.received("they arrive", r, 3, false)
	j.settle("none is held", get(list+"?state=held"), none)
	j.calm("they have arrived")

	j.do("disable", post(at+"/disable", nil))
	j.deliver(source.secret, "Four", ticket(4, "Four"))
	j.settle("held while it is disabled", get(list+"?state=held"), one)
	j.do("enable", post(at+"/enable", nil))
	j.do("recover the last hour", post(at+"/recover", object{"since": since, "until": time.Now().Add(time.Hour).UTC()}))
	j.received("it arrives", r, 1, false)
	j.settle("it is not held", get(list+"?state=held"), none)

	j.do("the future", post(at+"/recover", object{"since": time.Now().Add(time.Hour).UTC()}))
	j.do("an end before the beginning", post(at+"/recover", object{"since": since, "until": since.Add(-time.Hour)}))
	j.do("no beginning", post(at+"/recover", object{}))
	first := j.do("two a page", get(list+"?limit=2"))
	cursor := decode[struct{ NextCursor string }](first.body).NextCursor
	j.do("the next page", get(list+"?limit=2&cursor="+cursor))
	j.do("a cursor of another filter", get(list+"?limit=2&state=held&cursor="+cursor))
	j.calm("four have arrived")
	j.do("delete", callDelete(at))
	j.do("its log stays", get(list+"?limit=1"))
}
