package blackbox_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
)

// github sends arrivals as GitHub does. They become memories, goals and notes.
func github(j *journey) {
	j.login()
	r := j.endpoint("webhook", "hook", "memory.*", "goal.*", "timeline.*")
	const secret = "as typed at GitHub"
	at := j.at("/integrations/github")
	j.do("not a repository", post(at, object{"repository": "octo", "signingSecret": secret}))
	j.do("configure", post(at, object{"repository": "octo/app", "signingSecret": secret}))
	j.do("sandboxed", j.fromGitHub(secret, "issues", "d-0", issue))
	j.do("certify", post(at+"/certification", nil))
	j.do("a ping", j.fromGitHub(secret, "ping", "d-1", `{"zen":"Design for failure.","hook_id":1}`))
	j.do("an issue", j.fromGitHub(secret, "issues", "d-2", issue))
	j.do("the same again", j.fromGitHub(secret, "issues", "d-2", issue))
	j.do("another repository's", j.fromGitHub(secret, "issues", "d-3", `{"action":"opened","issue":{"number":7,"title":"Elsewhere"},"repository":{"full_name":"octo/other"}}`))
	j.do("a discussion, as a form", j.fromGitHub(secret, "discussion", "d-4",
		"payload="+url.QueryEscape(`{"action":"created","discussion":{"number":3,"title":"How?","body":"Like this.","html_url":"https://github.com/octo/app/discussions/3"},"repository":{"full_name":"octo/app"}}`)).
		with("Content-Type", "application/x-www-form-urlencoded"))
	j.do("a milestone that is late", j.fromGitHub(secret, "milestone", "d-5", milestone("1", "First", "2020-12-31T08:00:00Z", "open", "1", "3")))
	j.do("a milestone that is not", j.fromGitHub(secret, "milestone", "d-6", milestone("2", "Second", "2999-12-31T08:00:00Z", "open", "4", "0")))
	j.do("a milestone that is done", j.fromGitHub(secret, "milestone", "d-7", milestone("3", "Third", "2020-12-31T08:00:00Z", "closed", "0", "5")))
	j.do("a release", j.fromGitHub(secret, "release", "d-8", `{"action":"published","release":{"tag_name":"v1.0.0","name":"One","html_url":"https://github.com/octo/app/releases/tag/v1.0.0","prerelease":false,"author":{"login":"ada"},"published_at":"2026-01-01T00:00:00Z"},"repository":{"full_name":"octo/app"}}`))
	j.do("a wrong signature", j.fromGitHub("guess", "issues", "d-9", issue))
	j.do("no JSON", j.fromGitHub(secret, "issues", "d-10", `{"action":`))
	j.do("no event", j.fromGitHub(secret, "", "d-11", issue))
	j.received("its events", r, 2+3+1+6, false)
	j.calm("all is folded in")
	j.goals()
	j.do("the memories", get(j.at("/memory?provider=github")))
	j.do("the notes", get(j.at("/mission-control/timeline?kind=note")))
	j.do("it cannot be fetched", post(j.at("/memory/sync/github"), nil))
}

const issue = `{"action":"opened","issue":{"number":7,"title":"Printer on fire","body":"It burns.","html_url":"https://github.com/octo/app/issues/7","state":"open"},"repository":{"full_name":"octo/app"}}`

func milestone(number, title, due, state, open, closed string) string {
	return `{"action":"edited","milestone":{"number":` + number + `,"title":"` + title + `","description":"All of it","html_url":"https://github.com/octo/app/milestone/` +
		number + `","due_on":"` + due + `","created_at":"2020-01-01T00:00:00Z","state":"` + state + `","open_issues":` + open + `,"closed_issues":` + closed +
		`},"repository":{"full_name":"octo/app"}}`
}

// fromGitHub returns an arrival as GitHub sends it.
func (j *journey) fromGitHub(secret, event, delivery, body string) request {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	r := post("/inbound/"+j.company+"/github", []byte(body)).bare().with("User-Agent", "GitHub-Hookshot/0000000").
		with("X-GitHub-Delivery", delivery).with("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	if event != "" {
		r = r.with("X-GitHub-Event", event)
	}
	return r
}

// goals lists the goals, by page and by filter.
func (j *journey) goals() {
	list := j.at("/goals")
	all := j.do("all goals", get(list))
	j.do("those misaligned", get(list+"?status=misaligned"))
	j.do("those closed", get(list+"?state=closed&provider=github"))
	j.paged("two a page", list, 2)
	if id := firstNamed(all); id != "" {
		j.do("a goal", get(list+"/"+id))
	}
}
