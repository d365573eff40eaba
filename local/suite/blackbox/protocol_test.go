package blackbox_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
)

const mebibyte = 1 << 20

// protocol sends unknown paths, methods that are not allowed, and malformed queries and bodies. All targets refuse them in the
// same words.
func protocol(j *journey) {
	j.login()
	j.paths()
	j.methods()
	j.queries()
	j.bodies()
}

func (j *journey) paths() {
	j.do("an unknown path", get("/nothing"))
	j.do("what the problem means", get("/problems/not-found").bare())
	j.do("an unknown problem", get("/problems/none").bare())
	j.do("an unknown path of the company", get(j.at("/nowhere")))
	j.do("an unknown path of the company, without a token", get(j.at("/nowhere")).bare())
	j.do("a slash at the end", get(j.at("/integrations/")))
	j.do("an unknown provider", get(j.at("/integrations/fax")))
	j.do("a provider that is not configured", get(j.at("/integrations/webhook")))
	j.do("a letter of the path, encoded", get(j.at("/integrations/web%68ook")))
	j.do("a slash, encoded", get(j.at("/integrations/web%2Fhook")))
	j.do("a name of other letters", get(j.at("/integrations/w%C3%ABbhook")))
	j.do("a nothing, encoded", get(j.at("/integrations/webhook%00")))
	j.do("a broken encoding", get(j.at("/integrations/web%zzhook")))
	j.do("an unknown memory", get(j.at("/memory/01890000-0000-8000-8000-000000000000")))
	j.do("an unknown goal", get(j.at("/goals/none")))
	j.do("an unknown run", get(j.at("/memory/syncs/none")))
	j.do("the documentation is elsewhere", get("/companies"))
}

func (j *journey) methods() {
	list := j.at("/integrations")
	j.do("HEAD", call(http.MethodHead, list, nil))
	j.do("HEAD of what is tagged", call(http.MethodHead, j.at("/mission-control/health"), nil))
	j.do("HEAD without a token", call(http.MethodHead, list, nil).bare())
	for _, method := range []string{http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodPost} {
		j.do(method+" of a list", call(method, list, nil))
	}
	j.do("PATCH without a token", call(http.MethodPatch, list, nil).bare())
	j.do("PATCH of an integration", call(http.MethodPatch, j.at("/integrations/webhook"), object{}))
	j.do("GET of a sync", get(j.at("/memory/sync/feed")))
	j.do("PUT of the login", call(http.MethodPut, "/auth/login", object{}))
	j.do("a method in another header", get(list).with("X-HTTP-Method-Override", "DELETE"))
}

func (j *journey) queries() {
	j.do("an unknown parameter", get(j.at("/memory?color=red")))
	j.do("a parameter without a value", get(j.at("/mission-control/timeline?since=")))
	j.do("a time that is none", get(j.at("/mission-control/timeline?since=yesterday")))
	j.do("an end before the beginning", get(j.at("/mission-control/timeline?since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z")))
	j.do("a kind that is none", get(j.at("/mission-control/timeline?kind=party")))
	j.do("a limit of nothing", get(j.at("/memory?limit=0")))
	j.do("a limit that is no number", get(j.at("/memory?limit=many")))
	j.do("a limit of more than there may be", get(j.at("/memory?limit=1000")))
	j.do("a cursor of somebody's making", get(j.at("/memory?cursor=abc")))
	j.do("two wrong parameters", get(j.at("/goals?state=new&status=bad")))
	j.do("a semicolon", get(j.at("/memory?kind=a;b")))
	j.do("a broken query", get(j.at("/memory?kind=%zz")))
	j.do("a parameter with a plus and letters", get(j.at("/memory?kind=a+b%20%C3%A9%26")))
	j.do("a parameter twice", get(j.at("/memory?kind=a&kind=b")))
	j.do("a brief of the future", get(j.at("/intelligence/brief?since=2999-01-01T00:00:00Z")))
}

func (j *journey) bodies() {
	webhook := j.at("/integrations/webhook")
	j.do("no body", post(webhook, nil))
	j.do("no JSON", post(webhook, []byte(`{"url":`)))
	j.do("no UTF-8", post(webhook, []byte("{\"url\":\"\xff\"}")))
	j.do("two values", post(webhook, []byte(`{} {}`)))
	j.do("a list", post(webhook, []byte(`[]`)))
	j.do("another type", post(webhook, []byte(`<a/>`)).with("Content-Type", "application/xml"))
	j.do("a JSON type of its own", post(webhook, object{}).with("Content-Type", "application/vnd.acme+json; charset=utf-8"))
	j.do("no type", post(webhook, object{}).with("Content-Type", ""))
	j.do("everything wrong", post(webhook, object{"url": "ftp://example.com", "events": []string{"memory.eaten"}, "color": "red"}))
	j.do("an address that is not public", post(webhook, object{"url": "http://169.254.169.254/latest", "events": []string{"memory.*"}}))
	j.do("a secret that is none", post(webhook, object{"url": j.world.url + "/none", "events": []string{"memory.*"}, "signingSecret": "hush"}))
	j.do("a body that a sync does not know", post(j.at("/memory/sync/feed"), object{"mode": "sideways", "force": true}))

	good := []byte(`{"url":"` + j.world.url + `/none","events":["memory.*"],"signingSecret":"` + newSecret() + `"}`)
	whole := slices.Concat(good, bytes.Repeat([]byte(" "), mebibyte-len(good)))
	j.do("a mebibyte", post(webhook, whole))
	j.do("a byte more", post(webhook, slices.Concat(whole, []byte(" "))))
	j.do("five mebibytes", post(webhook, bytes.Repeat([]byte(" "), 5*mebibyte)))
	j.do("a byte more, and no token", post(webhook, slices.Concat(whole, []byte(" "))).bare())
	j.do("a byte more, from a provider", post("/inbound/"+j.company+"/webhook", slices.Concat(whole, []byte(" "))).bare())
	j.do("a long description", post(webhook, []byte(strings.Replace(string(good), "{", `{"description":"`+strings.Repeat("é", 600)+`",`, 1))))
}
