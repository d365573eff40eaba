package blackbox_test

import (
	"net/http"
	"time"
)

// inbound sends arrivals of a provider. A signed one is accepted once, and makes a memory, a goal or a note; every event
// that follows reaches the subscriber, signed.
func inbound(j *journey) {
	j.login()
	second := j.colleague("founder") // whose role is older than what is asked
	j.do("an approval for salaries", j.salaries("webhook"))
	r := j.endpoint("webhook", "hook", "memory.*", "goal.*", "integration.*", "timeline.*")
	secret := r.secret
	j.do("a memory", j.inbound(secret, "m-1", ticket(1, "Printer on fire")))
	j.do("the same again", j.inbound(secret, "m-1", ticket(1, "Printer on fire")))
	j.do("the same, sent anew", j.inbound(secret, "m-2", ticket(1, "Printer on fire")))
	j.do("changed", j.inbound(secret, "m-3", ticket(1, "Printer put out")))
	j.do("two at once", j.inbound(secret, "m-4", []byte(`{"type":"memory.upsert","data":[`+
		`{"externalId":"a","kind":"note","title":"A"},{"externalId":"b","kind":"note","title":"B","body":"text","url":"https://example.com/b"}]}`)))
	j.do("a goal", j.inbound(secret, "g-1", []byte(`{"type":"goal.update","data":{"externalId":"q3","title":"Ship","progress":0.4,"state":"open"}}`)))
	j.do("it falls behind", j.inbound(secret, "g-2", []byte(`{"type":"goal.update","data":{"externalId":"q3","title":"Ship","progress":0.4,"state":"open","startedAt":"2020-01-01T00:00:00Z","dueAt":"2020-12-31T00:00:00Z"}}`)))
	j.do("a note", j.inbound(secret, "n-1", []byte(`{"type":"timeline.note","data":{"title":"Moved office","subject":"office","details":{"floor":3}}}`)))
	j.do("salaries wait for a founder", j.inbound(secret, "p-1", ticket(9, "Salaries")))
	j.do("another delivery about the same salaries", j.inbound(secret, "p-2", ticket(9, "Salaries")))
	j.do("a second founder approves", j.approval().bearing("second founder", second))

	body := ticket(2, "Refused")
	j.do("a wrong signature", j.inbound(newSecret(), "x-1", body))
	j.do("no signature", post("/inbound/"+j.company+"/webhook", body).bare())
	j.do("signed an hour ago", j.inboundAt(secret, "x-2", body, time.Now().Add(-time.Hour)))
	changed := j.inbound(secret, "x-3", body)
	changed.body = ticket(3, "Refused")
	j.do("changed on its way", changed)
	j.misdirected(secret, body)
	j.do("no JSON", j.inbound(secret, "x-4", []byte(`{"type":`)))
	j.do("an unknown type", j.inbound(secret, "x-5", []byte(`{"type":"company.delete","data":{}}`)))
	j.do("incomplete", j.inbound(secret, "x-6", []byte(`{"type":"goal.update","data":[{"externalId":"g","progress":2},{"title":7}]}`)))
	j.do("GET", get("/inbound/"+j.company+"/webhook").bare())

	j.received("every event arrived", r, 5+2+1+4+3, false)
	j.calm("all is folded in")
	j.do("the deliveries of memories", get(j.at("/integrations/webhook/deliveries?event=memory.updated")))
	j.do("the memories", get(j.at("/memory")))
	j.do("the goals", get(j.at("/goals")))

	j.peek(post(j.at("/integrations/webhook/disable"), nil))
	j.do("a disabled integration", j.inbound(secret, "d-1", body))
	j.register("webhook-closed", r, "memory.*")
	closed := j.inbound(secret, "s-1", body)
	closed.path = "/inbound/" + j.company + "/webhook-closed"
	j.do("a sandboxed integration", closed)
	j.mapped(secret)
}

// mapped replaces the mapping of the sandboxed integration by the company's own, tries it and looks at what was received.
func (j *journey) mapped(secret string) {
	const one = "/integrations/webhook-closed"
	j.do("the default mapping", get(j.at(one+"/mapping")))
	j.do("a mapping that is not of the language", call(http.MethodPut, j.at(one+"/mapping"), []byte(`{"rules":[{"when":"now > 1","action":"timeline.note","with":{"title":".a","titel":".b"}}]}`)))
	j.do("a mapping", call(http.MethodPut, j.at(one+"/mapping"), []byte(`{"rules":[{"when":".payload.ticket","each":".payload.ticket",`+
		`"action":"memory.upsert","with":{"externalId":".item.id","title":".item.subject"}}]}`)))
	j.do("a preview", post(j.at(one+"/mapping/preview"), []byte(`{"payload":{"ticket":{"id":"7","subject":"Fire"}}}`)))
	j.do("a preview of what is refused", post(j.at(one+"/mapping/preview"), []byte(`{"payload":{"ticket":{"id":7}}}`)))
	own := j.inbound(secret, "s-2", []byte(`{"ticket":{"id":"8","subject":"Water"}}`))
	own.path = "/inbound/" + j.company + "/webhook-closed"
	j.do("a delivery by the mapping", own)
	j.do("the inbox", get(j.at(one+"/inbox")))
	j.do("nothing of this id in the inbox", get(j.at(one+"/inbox/01a20500-3ef4-71f3-a3d3-7867b7e98c40")))
	j.do("back to the default", call(http.MethodDelete, j.at(one+"/mapping"), nil))
}

// misdirected sends arrivals to companies and providers that do not exist. The refusals do not tell which exist.
func (j *journey) misdirected(secret string, body []byte) {
	for _, to := range []struct{ name, path string }{
		{"to a provider that is not configured", j.company + "/webhook-none"},
		{"to a provider that there is not", j.company + "/fax"},
		{"to a provider that sends nothing", j.company + "/feed"},
		{"to an unknown company", "01890000-0000-7000-8000-000000000000/webhook"},
		{"to what can be no company", "*/webhook"},
	} {
		r := j.inbound(secret, "w-1", body)
		r.path = "/inbound/" + to.path
		j.do(to.name, r)
	}
	j.do("with a token in place of a signature", call(http.MethodPost, "/inbound/"+j.company+"/webhook", body))
}
