package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"

	"orgops/functions/notifier"
	"orgops/shared/domain/notice"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/slacktest"
	"orgops/shared/webhook/slack"
)

func slackApp(context.Context) (slack.App, error) { return slacktest.App(), nil }

// installing begins an installation of the Slack app, and returns the request that ends it.
func (w *world) installing() ask {
	out, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/companies/"+w.company+"/operations/channels/slack/connect", nil)
	r.Header.Set("Authorization", "Bearer "+w.token)
	w.server().ServeHTTP(out, r)
	body, err := io.ReadAll(out.Body)
	errtest.Must(w.t, err)
	var start struct{ URL string }
	errtest.Must(w.t, json.Unmarshal(body, &start))
	to, err := url.Parse(start.URL)
	errtest.Must(w.t, err)
	return ask{
		method: http.MethodGet, path: "//auth/slack/callback?code=" + slacktest.Code + "&state=" + to.Query().Get("state"), status: http.StatusFound,
		header: http.Header{"Cookie": {out.Header().Get("Set-Cookie")}},
	}
}

// installed installs the app and chooses its channel.
func (w *world) installed() {
	w.call(w.installing())
	w.call(ask{method: http.MethodPut, path: "/operations/channels/slack", body: `{"channel":"` + slacktest.Channel + `"}`})
}

// linking returns the body that links a user of Slack to the founder.
func (w *world) linking() string {
	text, op := notice.NewSlackCode(w.tenant(), notice.SlackCode{
		SlackUser: notice.SlackUser{Team: slacktest.Team, ID: "UADA"}, Workspace: "Acme", Until: w.clock.Now().Add(notice.SlackCodeLifetime),
	})
	errtest.Must(w.t, w.tenant().Commit(w.t.Context(), op))
	return `{"code":"` + text + `","confirm":true}`
}

func slackRequests() map[string]func(*world) ask {
	return map[string]func(*world) ask{
		"connect-slack":     post("/operations/channels/slack/connect", ""),
		"finish-slack":      func(w *world) ask { return w.installing() },
		"link-slack-user":   func(w *world) ask { return post("/notices/slack", w.linking())(w) },
		"unlink-slack-user": func(*world) ask { return ask{method: http.MethodDelete, path: "/notices/slack"} },
		"receive-slack-press": func(w *world) ask {
			w.installed()
			w.call(post("/notices/slack", w.linking())(w))
			p := slacktest.Pressed("UADA", slack.Reject, slack.Value(w.company, w.wanted("9")), w.clock.Now())
			r := w.slack.Request(p, "/")
			body, err := io.ReadAll(r.Body)
			errtest.Must(w.t, err)
			return ask{method: http.MethodPost, path: "//slack/interactions/app", body: string(body), header: r.Header}
		},
	}
}

// posts measures the message to the Slack channel about a matter.
func (w *world) posts() func() {
	w.installed()
	w.tells()()
	m := w.matter()
	w.settled(notifier.From(w.fresh()).Worker(), w.message("notices", notice.Job{Company: w.company, Matter: &m}))()
	return w.settled(notifier.From(w.fresh()).Worker(), w.message("notices", notice.Job{Company: w.company, Notice: m.Post(w.company, w.clock.Now()).ID}))
}
