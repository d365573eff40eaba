package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"time"

	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/standardwebhooks"
)

// ask describes a request of the company's founder. Its path is relative to the company's, unless it begins with //.
type ask struct {
	method, path, body string
	header             http.Header
	status             int // 0: any success
}

// do sends a request to a server and decodes the answer into into, unless that is nil.
func (w *world) do(server http.Handler, a ask, into any) {
	w.t.Helper()
	path := "/companies/" + w.company + a.path
	if len(a.path) > 1 && a.path[:2] == "//" {
		path = a.path[1:]
	}
	r := httptest.NewRequest(a.method, path, bytes.NewReader([]byte(a.body)))
	if a.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer "+w.token)
	maps.Copy(r.Header, a.header)
	out := httptest.NewRecorder()
	server.ServeHTTP(out, r)
	answer, err := io.ReadAll(out.Result().Body)
	errtest.Must(w.t, err)
	if a.status == 0 && out.Code >= 300 {
		w.t.Fatalf("%s %s: status = %d, want one below 300: %s", a.method, path, out.Code, answer)
	}
	if a.status != 0 && out.Code != a.status {
		w.t.Fatalf("%s %s: status = %d, want %d: %s", a.method, path, out.Code, a.status, answer)
	}
	if into != nil {
		errtest.Must(w.t, json.Unmarshal(answer, into))
	}
}

// call sends a request to a new server, to prepare a step.
func (w *world) call(a ask) { w.do(w.server(), a, nil) }

func (w *world) configure(provider, body string) {
	w.call(ask{method: http.MethodPost, path: "/integrations/" + provider, body: body})
}

func signIn() ask {
	return ask{method: http.MethodPost, path: "//auth/login", body: `{"email":"` + email + `","password":"` + pass + `"}`}
}

func (w *world) login() string {
	var session struct {
		Token string `json:"access_token"`
	}
	w.do(w.server(), signIn(), &session)
	return session.Token
}

// arrival returns a signed delivery of a memory to the company.
func (w *world) arrival(deliveryID, externalID, title string) ask {
	return w.signed(deliveryID, map[string]any{"type": "memory.upsert", "data": map[string]string{
		"externalId": externalID, "kind": "ticket", "title": title, "body": prose(0, bodySize), "url": "https://example.com/" + externalID,
	}})
}

func (w *world) signed(deliveryID string, body any) ask {
	data, err := json.Marshal(body)
	errtest.Must(w.t, err)
	signer, err := standardwebhooks.NewSigner([]string{secret})
	errtest.Must(w.t, err)
	return ask{
		method: http.MethodPost, path: "//inbound/" + w.company + "/webhook", body: string(data),
		header: signer.Headers(deliveryID, data, w.clock.Now()),
	}
}

func get(path string) func(*world) ask {
	return func(*world) ask { return ask{method: http.MethodGet, path: path} }
}

func post(path, body string) func(*world) ask {
	return func(*world) ask { return ask{method: http.MethodPost, path: path, body: body} }
}

const second = "/integrations/webhook-second"

// after returns a request that runs before first; before is not measured.
func after(before func(*world), then func(*world) ask) func(*world) ask {
	return func(w *world) ask {
		before(w)
		return then(w)
	}
}

func (w *world) ensureSecond() {
	w.configure("webhook-second", `{"url":"`+w.receiver.URL+`","events":["goal.*"]}`)
}

func (w *world) disableSecond() {
	w.ensureSecond()
	w.call(ask{method: http.MethodPost, path: second + "/disable"})
}

// free cancels the feed's run, if one is pending.
func (w *world) free() {
	var page struct{ Items []struct{ ID, State string } }
	w.do(w.server(), ask{method: http.MethodGet, path: "/memory/syncs?state=requested"}, &page)
	for _, run := range page.Items {
		w.call(ask{method: http.MethodPost, path: "/memory/syncs/" + run.ID + "/cancel"})
	}
}

// begin requests a run of the feed.
func (w *world) begin() (run string) {
	var asked struct{ ID string }
	w.do(w.server(), ask{method: http.MethodPost, path: "/memory/sync/feed"}, &asked)
	return asked.ID
}

// requests returns the request of each step that is an operation.
func requests() map[string]func(*world) ask {
	all := map[string]func(*world) ask{
		"login":            func(*world) ask { return signIn() },
		"get-keys":         get("//.well-known/jwks.json"),
		"get-liveness":     get("//healthz"),
		"get-problem-type": get("//problems/not-found"),

		"get-health": get("/mission-control/health"), "get-readiness": get("/mission-control/readiness"),
		"get-dashboard": get("/mission-control/dashboard"), "list-timeline": get("/mission-control/timeline"),
		"get-brief": get("/intelligence/brief"), "list-recommendations": get("/intelligence/recommendations"),
		"get-brief, of a month": func(w *world) ask {
			return ask{method: http.MethodGet, path: "/intelligence/brief?since=" + w.clock.Now().AddDate(0, -1, 0).Format(time.RFC3339)}
		},
		"get-context": get("/intelligence/context"),
		"get-health, not modified": func(w *world) ask {
			out := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "/companies/"+w.company+"/mission-control/health", nil)
			r.Header.Set("Authorization", "Bearer "+w.token)
			w.server().ServeHTTP(out, r)
			return ask{method: http.MethodGet, path: "/mission-control/health", status: http.StatusNotModified,
				header: http.Header{"If-None-Match": {out.Header().Get("ETag")}}}
		},

		"list-memories": get("/memory"), "list-goals": get("/goals"), "list-syncs": get("/memory/syncs"),
		"get-memory":  func(w *world) ask { return get("/memory/" + w.seeded.memory)(w) },
		"get-goal":    func(w *world) ask { return get("/goals/" + w.seeded.goal)(w) },
		"get-sync":    func(w *world) ask { return get("/memory/syncs/" + w.seeded.run)(w) },
		"sync-memory": after((*world).free, post("/memory/sync/feed", "")),
		"cancel-sync": func(w *world) ask {
			w.free()
			return ask{method: http.MethodPost, path: "/memory/syncs/" + w.begin() + "/cancel"}
		},
	}
	maps.Copy(all, integrationRequests())
	maps.Copy(all, inboundRequests())
	return all
}

func integrationRequests() map[string]func(*world) ask {
	const one, log = "/integrations/webhook", "/integrations/webhook/deliveries"
	credentials := func(method, body string) func(*world) ask {
		return after((*world).ensureSecond, func(*world) ask { return ask{method: method, path: second + "/credentials", body: body} })
	}
	return map[string]func(*world) ask{
		"list-integrations": get("/integrations"), "get-integration": get(one),
		"configure-integration": func(w *world) ask {
			return ask{method: http.MethodPost, path: second, body: `{"url":"` + w.receiver.URL + `","events":["goal.*"]}`, status: http.StatusCreated}
		},
		"configure-integration, again": func(w *world) ask {
			return ask{method: http.MethodPost, path: second, body: `{"url":"` + w.receiver.URL + `","events":["goal.*"]}`, status: http.StatusOK}
		},
		"enable-integration":             after((*world).disableSecond, post(second+"/enable", "")),
		"disable-integration":            after((*world).ensureSecond, post(second+"/disable", "")),
		"put-integration-credentials":    credentials(http.MethodPut, `{"credentials":{"token":"a token of a provider"}}`),
		"delete-integration-credentials": credentials(http.MethodDelete, ""),
		"rotate-integration-secret":      after((*world).ensureSecond, post(second+"/secret", "")),
		"certify-integration":            post(one+"/certification", ""),
		"get-integration-certification":  get(one + "/certification"),
		"test-integration":               post(one+"/test", ""),
		"list-integration-deliveries":    get(log),
		"get-integration-delivery":       func(w *world) ask { return get(log + "/" + w.seeded.delivery)(w) },
		"retry-integration-delivery":     func(w *world) ask { return post(log+"/"+w.seeded.delivery+"/retry", "")(w) },
		"recover-integration": func(w *world) ask {
			return post(one+"/recover", `{"since":"`+w.clock.Now().Add(-time.Hour).Format(time.RFC3339)+`"}`)(w)
		},
		"recover-integration, with an Idempotency-Key": func(w *world) ask {
			a := post(one+"/recover", `{"since":"`+w.clock.Now().Add(-time.Hour).Format(time.RFC3339)+`"}`)(w)
			a.header = http.Header{"Idempotency-Key": {"one"}}
			return a
		},
		"delete-integration": after((*world).ensureSecond, func(*world) ask { return ask{method: http.MethodDelete, path: second} }),
	}
}

func inboundRequests() map[string]func(*world) ask {
	return map[string]func(*world) ask{
		"receive-webhook":           func(w *world) ask { return w.arrival("msg_1", "1", "Printer on fire") },
		"receive-webhook, a repeat": func(w *world) ask { return w.arrival("msg_1", "1", "Printer on fire") },
		"receive-webhook, a change": func(w *world) ask { return w.arrival("msg_2", "1", "Printer still on fire") },
		"receive-webhook, forged": func(w *world) ask {
			a := w.arrival("msg_3", "1", "Printer on fire")
			a.body, a.status = a.body+" ", http.StatusUnauthorized
			return a
		},
		"receive-webhook, a goal": func(w *world) ask {
			due, began := w.clock.Now().AddDate(0, 0, 30), w.clock.Now().AddDate(0, 0, -10)
			return w.signed("msg_4", map[string]any{"type": "goal.update", "data": map[string]any{
				"externalId": "g1", "title": "Launch", "progress": 0.5, "dueAt": due, "startedAt": began, "state": "open",
			}})
		},
	}
}
