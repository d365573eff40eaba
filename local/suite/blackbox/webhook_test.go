package blackbox_test

import (
	"fmt"
	"net/http"
	"runtime"
	"time"
)

// endpoint registers a receiver under a provider's name, and certifies it. It waits until the context shows each,
// because the service may hold or send an event that is still under way when the endpoint is certified.
func (j *journey) endpoint(provider, name string, events ...string) *receiver {
	j.t.Helper()
	r := j.receive(name, newSecret())
	j.register(provider, r, events...)
	j.calm(provider + " is registered")
	j.certify(provider)
	j.calm(provider + " is certified")
	return r
}

func (j *journey) register(provider string, r *receiver, events ...string) {
	j.t.Helper()
	if a := j.peek(post(j.at("/integrations/"+provider), object{"url": r.url, "events": events, "signingSecret": r.secret})); a.status != http.StatusCreated {
		j.t.Fatalf("register %s: %s", provider, a)
	}
}

func (j *journey) certify(provider string) {
	j.t.Helper()
	a := j.peek(post(j.at("/integrations/"+provider+"/certification"), nil))
	if decode[struct{ State string }](a.body).State != "certified" {
		j.t.Fatalf("certify %s: %s", provider, a)
	}
}

// inbound returns a signed arrival to the provider webhook.
func (j *journey) inbound(secret, id string, body []byte) request {
	return j.inboundAt(secret, id, body, time.Now())
}

func (j *journey) inboundAt(secret, id string, body []byte, at time.Time) request {
	timestamp := fmt.Sprint(at.Unix())
	j.mask.alias(timestamp, "now")
	return post("/inbound/"+j.company+"/webhook", body).bare().
		with("webhook-id", id).with("webhook-timestamp", timestamp).with("webhook-signature", sign(secret, id, timestamp, body))
}

// deliver sends a signed arrival that the service must accept. It is not a step. It returns in a later millisecond than that of
// the delivery's commit, because the timeline has no order within a millisecond.
func (j *journey) deliver(secret, id string, body []byte) {
	j.t.Helper()
	if a := j.peek(j.inbound(secret, id, body)); a.status != http.StatusAccepted {
		j.t.Fatalf("inbound %s: %s", id, a)
	}
	nextMillisecond()
}

// nextMillisecond returns in a later millisecond than that of the call.
func nextMillisecond() {
	for called := time.Now().UnixMilli(); time.Now().UnixMilli() == called; {
		runtime.Gosched()
	}
}

// ticket returns the body of a delivery that makes a memory.
func ticket(n int, title string) []byte {
	return fmt.Appendf(nil, `{"type":"memory.upsert","data":{"externalId":"ticket-%d","kind":"ticket","title":%q}}`, n, title)
}

// webhook configures, certifies, tests, changes, disables and deletes an endpoint.
func webhook(j *journey) {
	j.login()
	r := j.receive("hook", newSecret())
	at := j.at("/integrations/webhook")
	body := object{"url": r.url, "events": []string{"memory.*"}, "signingSecret": r.secret, "description": "The first"}
	j.do("none yet", get(j.at("/integrations")))
	j.do("configure", post(at, body))
	j.do("no report yet", get(at+"/certification"))
	j.do("a sample is sent from the sandbox", post(at+"/test", nil))
	j.do("certify", post(at+"/certification", nil))
	j.do("the report", get(at+"/certification"))
	j.calm("it is certified")
	seen := j.do("see it", get(at))
	j.mask.alias(seen.header.Get("Etag"), "etag")
	j.do("it has not changed", get(at).with("If-None-Match", seen.header.Get("Etag")))
	j.do("the list", get(j.at("/integrations")))
	j.do("configure the same again", post(at, body))
	body["events"] = []string{"memory.*", "goal.updated"}
	j.do("another event", post(at, body))
	j.do("store credentials", call(http.MethodPut, at+"/credentials", object{"credentials": object{"token": "hush", "user": "ada"}}))
	j.do("credentials that cannot be", call(http.MethodPut, at+"/credentials", object{"credentials": object{"": "x", "ok": ""}}))
	j.calm("credentials are stored")
	j.do("their names alone are shown", get(at))
	j.do("destroy credentials", callDelete(at+"/credentials"))
	body["url"] = r.url + "?moved"
	j.calm("credentials are destroyed")
	j.do("a changed url returns it to the sandbox", post(at, body))
	careless := j.serve("careless", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	body["url"] = careless
	j.calm("it is in the sandbox")
	j.do("a careless receiver", post(at, body))
	j.do("is not certified", post(at+"/certification", nil))
	j.do("a sample to it", post(at+"/test", nil))
	body["url"] = j.world.url + "/nobody"
	j.calm("it is careless")
	j.do("nobody there", post(at, body))
	j.do("a sample to nobody", post(at+"/test", nil))
	j.do("nobody is not certified", post(at+"/certification", nil))
	j.calm("nobody is there")
	j.do("disable", post(at+"/disable", nil))
	j.do("disable again", post(at+"/disable", nil))
	j.calm("it is disabled")
	j.do("enable", post(at+"/enable", nil))
	j.do("delete", callDelete(at))
	j.do("delete again", callDelete(at))
	j.do("it is gone", get(at))
	j.calm("all is gone")
	j.do("a secret is made where none is given", post(j.at("/integrations/webhook-second"), object{"url": r.url, "events": []string{"*"}}))
	j.do("and shown this once", post(j.at("/integrations/webhook-second"), object{"url": r.url, "events": []string{"timeline.*"}}))
}
