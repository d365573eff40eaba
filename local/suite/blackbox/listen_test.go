package blackbox_test

import "net/http"

// listen hears of operations: an endpoint gets what happens to another one, as its filter and its transformation choose, and nothing
// about itself.
func listen(j *journey) {
	j.login()
	j.do("an event of the catalogue", get(j.at("/event-types/endpoint.disabled")))
	j.do("a version that is not sent", get(j.at("/event-types/endpoint.disabled?version=2")))
	j.endpoint("webhook", "other", "memory.*")
	r := j.receive("listener", newSecret())
	at := j.at("/integrations/webhook-listener")
	config := object{"url": r.url, "events": []string{"endpoint.*", "user.joined"}, "signingSecret": r.secret, "filter": `.data.state == "disabled"`}
	j.do("a version that does not exist", post(at, object{"url": r.url, "events": []string{"endpoint.*"}, "eventVersions": object{"endpoint.disabled": 2}}))
	if a := j.peek(post(at, config)); a.status != http.StatusCreated {
		j.t.Fatalf("register the listener: %s", a)
	}
	j.calm("the listener is registered")
	j.certify("webhook-listener")
	j.calm("the listener is certified")
	j.do("try another filter", post(at+"/filter/preview", object{"filter": `.data.state == "active"`, "transform": `{text: .data.provider}`}))

	other := j.at("/integrations/webhook")
	j.do("disable the other", post(other+"/disable", nil))
	j.do("enable the other", post(other+"/enable", nil))
	j.received("it hears what the filter lets through", r, 1, false)
	j.await("both events are counted, and health knows of the delivery", get(at), func(a answer) bool {
		shown := decode[struct {
			Selected []struct{ Matched, Filtered int }
			Health   struct{ Status string }
		}](a.body)
		matched, filtered := 0, 0
		for _, day := range shown.Selected {
			matched, filtered = matched+day.Matched, filtered+day.Filtered
		}
		return matched == 1 && filtered == 1 && shown.Health.Status == "pass"
	})
	j.do("disable the listener", post(at+"/disable", nil))
	j.do("enable the listener", post(at+"/enable", nil))
	j.calm("nothing is under way")
	j.do("what it was sent", get(at+"/deliveries"))
}
