package blackbox_test

// rotate checks that after a rotation both secrets sign and are accepted, so that no receiver misses a delivery.
func rotate(j *journey) {
	j.login()
	old := j.endpoint("webhook", "hook", "memory.created")
	at := j.at("/integrations/webhook")
	j.calm("it is certified")
	rotated := j.do("rotate", post(at+"/secret", nil))
	next := decode[struct{ SigningSecret string }](rotated.body).SigningSecret
	j.deliver(old.secret, "m-1", ticket(1, "Signed with the old one"))
	j.received("two signatures, of which the old receiver knows one", old, 1, false)
	old.mu.Lock()
	old.secret = next
	old.mu.Unlock()
	j.deliver(next, "m-2", ticket(2, "Signed with the new one"))
	j.received("two signatures, of which the new receiver knows one", old, 1, false)
	given := newSecret()
	j.do("one of our own", post(at+"/secret", object{"signingSecret": given}))
	j.do("one that is none", post(at+"/secret", object{"signingSecret": "hush"}))
	j.deliver(given, "m-3", ticket(3, "Signed with the third"))
	j.received("three signatures", old, 1, false)
	j.calm("all have arrived")
	j.do("no secret is shown", get(at))
	j.do("a rotation with a key", post(at+"/secret", nil).with("Idempotency-Key", "k-1"))
	j.do("its repeat shows the same secret", post(at+"/secret", nil).with("Idempotency-Key", "k-1"))
	j.do("a deletion of what is no longer there", callDelete(at).with("If-Match", `"1-0.7.1.sandbox"`))
	j.do("a deletion of whatever is there", callDelete(at).with("If-Match", "*"))
}
