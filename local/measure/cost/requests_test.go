package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
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
	r.Host = "orgops.test" // the service's own
	if a.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer "+w.token)
	if a.path == "/mcp" {
		r.Header.Set("Authorization", "Bearer "+w.mcpToken())
	}
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

// mcpToken returns the founder's token for the MCP endpoint.
func (w *world) mcpToken() string {
	claims, err := token.NewVerifier(w.tokens(), w.keys.Public()).Verify(w.token)
	errtest.Must(w.t, err)
	claims.Resource = token.MCPResource("https://orgops.test", w.company)
	text, err := token.NewSigner(w.tokens(), w.keys).Issue(claims)
	errtest.Must(w.t, err)
	return text
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

// arrival returns a signed arrival of a memory to the company.
func (w *world) arrival(arrivalID, externalID, title string) ask {
	return w.signed(arrivalID, map[string]any{"type": "memory.upsert", "data": map[string]string{
		"externalId": externalID, "kind": "ticket", "title": title, "body": prose(0, bodySize), "url": "https://example.com/" + externalID,
	}})
}

func (w *world) signed(arrivalID string, body any) ask {
	data, err := json.Marshal(body)
	errtest.Must(w.t, err)
	signer, err := standardwebhooks.NewSigner([]string{secret})
	errtest.Must(w.t, err)
	return ask{
		method: http.MethodPost, path: "//inbound/" + w.company + "/webhook", body: string(data),
		header: signer.Headers(arrivalID, data, w.clock.Now()),
	}
}

func get(path string) func(*world) ask {
	return func(*world) ask { return ask{method: http.MethodGet, path: path} }
}

func post(path, body string) func(*world) ask {
	return func(*world) ask { return ask{method: http.MethodPost, path: path, body: body} }
}

// advised returns the path of a recommendation whose condition holds: to add a founder.
func (w *world) advised() string {
	return "/intelligence/recommendations/" + recommendation.ID("add-founder", timeline.Reference{Type: "company", ID: w.company})
}

// explain returns a request for the explanation of a goal, which it has.
func explain(method, body string) func(*world) ask {
	return func(w *world) ask {
		path := "/goals/" + w.seeded.goal + "/explanation"
		if method != http.MethodPut {
			w.do(w.server(), ask{method: http.MethodPut, path: path, body: `{"text":"The supplier delivers in May."}`}, nil)
		}
		return ask{method: method, path: path, body: body}
	}
}

// decide returns the request of a decision about a recommendation in any version.
func decide(action, body string) func(*world) ask {
	return func(w *world) ask {
		if action == "claim" { // which a dismissal would refuse
			w.do(w.server(), ask{method: http.MethodPost, path: w.advised() + "/reopen", header: http.Header{"If-Match": {"*"}}}, nil)
		}
		a := post(w.advised()+"/"+action, body)(w)
		a.header = http.Header{"If-Match": {"*"}}
		return a
	}
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

func (w *world) ensureChannels() {
	w.call(ask{method: http.MethodPut, path: "/operations/channels/mail", body: `{"name":"Acme"}`})
	w.call(ask{method: http.MethodPut, path: "/operations/channels/slack", body: `{"webhookUrl":"` + w.slack.WebhookURL() + `"}`})
}

// chosen are preferences of a person, or a company's defaults.
const chosen = `{"timeZone":"UTC","channels":{"security":["mail"],"approval":["mail"],"alert":["mail"]}}`

func (w *world) ensureChoice() {
	w.call(ask{method: http.MethodPut, path: "/notices/preferences", body: chosen})
}

// tickets is a mapping of a company.
const tickets = `{"rules":[{"when":".payload.ticket","action":"memory.upsert","with":{"externalId":".payload.ticket.id","title":".payload.ticket.subject"}}]}`

func (w *world) mapSecond() {
	w.ensureSecond()
	w.call(ask{method: http.MethodPut, path: second + "/mapping", body: tickets})
}

// manifest stores a connector of the company's own.
func (w *world) manifest(kind string) ask {
	return ask{method: http.MethodPut, path: "/connectors/" + kind, body: fmt.Sprintf(`{"kind":%q,"title":"Tickets of Example","description":"Open tickets become memories.","base":%q,
		"streams":[{"name":"tickets","request":{"path":"/tickets"},"records":"/data","item":{"target":"memory","kind":"ticket","id":"/id","title":"/subject"}}]}`, kind, w.receiver.URL)}
}

// described stores a connector of the company's own, and an integration of its kind.
func (w *world) described() {
	w.call(w.manifest("tickets"))
	w.configure("tickets", `{}`)
}

// undescribed stores a connector of the company's own, and returns the request that deletes it.
func (w *world) undescribed() ask {
	w.call(w.manifest("unused"))
	return ask{method: http.MethodDelete, path: "/connectors/unused", status: http.StatusNoContent}
}

// received returns the id of an arrival that the sandbox has received.
func (w *world) received() string {
	w.configure("webhook-second", `{"url":"`+w.receiver.URL+`","events":["goal.*"],"signingSecret":"`+secret+`"}`)
	w.call(ask{method: http.MethodPost, path: second + "/enable"})
	a := w.arrival("msg_inbox", "inbox", "Printer on fire")
	a.path += "-second"
	w.call(a)
	var page struct{ Items []struct{ ID string } }
	w.do(w.server(), ask{method: http.MethodGet, path: second + "/inbox"}, &page)
	return page.Items[0].ID
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

// ownGoal creates a goal of the company's own.
func (w *world) ownGoal() string {
	var made struct{ ID string }
	w.do(w.server(), ask{method: http.MethodPost, path: "/goals", body: `{"title":"MRR","measure":{"target":"50000","unit":"EUR","direction":"up"}}`}, &made)
	return made.ID
}

// begin requests a run of a provider.
func (w *world) begin(provider string) (run string) {
	var asked struct{ ID string }
	w.do(w.server(), ask{method: http.MethodPost, path: "/memory/sync/" + provider}, &asked)
	return asked.ID
}

// awaiting stores a run that waits for a user, as a worker leaves it, without the feed's place.
func (w *world) awaiting() (run string) {
	w.t.Helper()
	c, until := w.tenant(), w.clock.Now().Add(syncrun.Await)
	record := syncrun.StoredRun{Run: syncrun.Run{
		ID: id.New(), Provider: "feed", Mode: syncrun.Live, Full: true, State: syncrun.Awaiting, RequestedAt: w.clock.Now(),
		Removal: &syncrun.Removal{Items: 30, Of: 40, Reason: "more than half", Until: &until},
	}}
	errtest.Must(w.t, c.Commit(w.t.Context(), c.Create(syncrun.Key(record.ID), syncrun.Entity, record)))
	return record.ID
}

// addReads adds a request for each GET operation that has none: its path, with the name of something that is there for each parameter.
func (w *world) addReads(all map[string]func(*world) ask) {
	named := strings.NewReplacer(
		"/companies/{companyId}", "", "{companyId}", w.company, "{provider}", "webhook", "{kind}", "not-found", "{name}", "memory.updated", "{userId}", w.founder,
		"{memoryId}", w.seeded.memory, "{goalId}", w.seeded.goal, "{runId}", w.seeded.run, "{deliveryId}", w.seeded.delivery,
		"{recommendationId}", path.Base(w.advised()),
	)
	for route, item := range w.server().API().OpenAPI().Paths {
		if op := item.Get; op != nil && all[op.OperationID] == nil {
			address := named.Replace(route)
			if !strings.HasPrefix(route, "/companies/{companyId}") {
				address = "/" + address // not below the company's
			}
			all[op.OperationID] = get(address)
		}
	}
}

// requests returns the request of each step that is an operation, except those that addReads adds.
func requests() map[string]func(*world) ask {
	all := map[string]func(*world) ask{
		"login": func(w *world) ask { // from where the person has logged in before
			w.do(w.server(), signIn(), nil)
			return signIn()
		},

		"get-brief, of a month": func(w *world) ask {
			return ask{method: http.MethodGet, path: "/intelligence/brief?since=" + w.clock.Now().AddDate(0, -1, 0).Format(time.RFC3339)}
		},
		"preview-integration-filter": post("/integrations/webhook/filter/preview", `{"filter":".data.kind == \"issue\""}`),
		"claim-recommendation":       decide("claim", ""), "reopen-recommendation": decide("reopen", ""),
		"dismiss-recommendation": decide("dismiss", `{"reason":"planned","text":"We do it in May, with the rest."}`),
		"get-health, not modified": func(w *world) ask {
			out := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "/companies/"+w.company+"/mission-control/health", nil)
			r.Header.Set("Authorization", "Bearer "+w.token)
			w.server().ServeHTTP(out, r)
			return ask{method: http.MethodGet, path: "/mission-control/health", status: http.StatusNotModified,
				header: http.Header{"If-None-Match": {out.Header().Get("ETag")}}}
		},

		"list-goals, of integrations that exist": get("/goals?integration=current"),
		"create-goal":                            post("/goals", `{"title":"MRR","dueAt":"2999-01-01T00:00:00Z","measure":{"current":"30000","target":"50000","unit":"EUR","direction":"up"}}`),
		"change-goal": func(w *world) ask {
			return ask{method: http.MethodPatch, path: "/goals/" + w.ownGoal(), body: `{"measure":{"current":"31000"}}`}
		},
		"delete-goal": func(w *world) ask {
			return ask{method: http.MethodDelete, path: "/goals/" + w.ownGoal(), status: http.StatusNoContent}
		},
		"explain-goal":            explain(http.MethodPut, `{"text":"The supplier delivers in May."}`),
		"get-goal-explanation":    explain(http.MethodGet, ""),
		"delete-goal-explanation": explain(http.MethodDelete, ""),
		"sync-memory":             after((*world).free, post("/memory/sync/feed", "")),
		"confirm-sync":            func(w *world) ask { return post("/memory/syncs/"+w.awaiting()+"/confirm", "")(w) },
		"cancel-sync": func(w *world) ask {
			w.free()
			return ask{method: http.MethodPost, path: "/memory/syncs/" + w.begin("feed") + "/cancel"}
		},
	}
	maps.Copy(all, integrationRequests())
	maps.Copy(all, slackRequests())
	maps.Copy(all, reliabilityRequests())
	maps.Copy(all, inboundRequests())
	maps.Copy(all, policyRequests())
	maps.Copy(all, userRequests())
	maps.Copy(all, clientRequests())
	maps.Copy(all, grantRequests())
	maps.Copy(all, executiveRequests())
	maps.Copy(all, ssoRequests())
	maps.Copy(all, connectRequests())
	return all
}

func integrationRequests() map[string]func(*world) ask {
	const one, log = "/integrations/webhook", "/integrations/webhook/deliveries"
	credentials := func(method, body string) func(*world) ask {
		return after((*world).ensureSecond, func(*world) ask { return ask{method: method, path: second + "/credentials", body: body} })
	}
	return map[string]func(*world) ask{
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
		"put-integration-mapping":        after((*world).ensureSecond, func(*world) ask { return ask{method: http.MethodPut, path: second + "/mapping", body: tickets} }),
		"delete-integration-mapping": after((*world).mapSecond, func(*world) ask {
			return ask{method: http.MethodDelete, path: second + "/mapping"}
		}),
		"preview-integration-mapping": post(one+"/mapping/preview", `{"payload":{"type":"memory.upsert","data":{"externalId":"42","title":"Printer on fire"}}}`),
		"preview-integration-measure": after((*world).described, post("/integrations/tickets/measure/preview", `{"stream":"tickets","pointer":"","aggregate":"count"}`)),
		"get-integration-inbox":       func(w *world) ask { return get(second + "/inbox/" + w.received())(w) },
		"test-integration":            post(one+"/test", ""),
		"put-connector":               func(w *world) ask { return w.manifest("tickets") },
		"put-connector, changed": after((*world).described, func(w *world) ask {
			a := w.manifest("tickets")
			a.body = strings.Replace(a.body, "Open tickets", "Tickets", 1)
			return a
		}),
		"get-connector":              after((*world).described, get("/connectors/tickets")),
		"delete-connector":           func(w *world) ask { return w.undescribed() },
		"test-connector":             func(w *world) ask { return post("/connectors/test", `{"manifest":`+w.manifest("tried").body+`}`)(w) },
		"retry-integration-delivery": func(w *world) ask { return post(log+"/"+w.seeded.delivery+"/retry", "")(w) },
		"recover-integration": func(w *world) ask {
			return post(one+"/recover", `{"since":"`+w.clock.Now().Add(-time.Hour).Format(time.RFC3339)+`"}`)(w)
		},
		"resume-integration": post(one+"/resume", ""),
		"recover-integration, with an Idempotency-Key": func(w *world) ask {
			a := post(one+"/recover", `{"since":"`+w.clock.Now().Add(-time.Hour).Format(time.RFC3339)+`"}`)(w)
			a.header = http.Header{"Idempotency-Key": {"one"}}
			return a
		},
		"get-integration-recovery": func(w *world) ask {
			var asked struct{ ID string }
			w.do(w.server(), post(one+"/recover", `{"since":"`+w.clock.Now().Add(-58*time.Minute).Format(time.RFC3339)+`"}`)(w), &asked)
			return ask{method: http.MethodGet, path: one + "/recoveries/" + asked.ID}
		},
		"delete-integration": after((*world).ensureSecond, func(*world) ask { return ask{method: http.MethodDelete, path: second} }),
	}
}

func policyRequests() map[string]func(*world) ask {
	const policies, approvals = "/operations/policies", "/operations/approvals"
	return map[string]func(*world) ask{
		"put-notice-preferences": func(*world) ask {
			return ask{method: http.MethodPut, path: "/notices/preferences", body: chosen}
		},
		"delete-notice-preferences": after((*world).ensureChoice, func(*world) ask { return ask{method: http.MethodDelete, path: "/notices/preferences"} }),
		"put-notice-defaults":       func(*world) ask { return ask{method: http.MethodPut, path: "/notices/defaults", body: chosen} },
		"put-mail-channel": func(*world) ask {
			return ask{method: http.MethodPut, path: "/operations/channels/mail", body: `{"name":"Acme"}`}
		},
		"get-mail-channel":    after((*world).ensureChannels, get("/operations/channels/mail")),
		"get-slack-channel":   after((*world).ensureChannels, get("/operations/channels/slack")),
		"delete-mail-channel": after((*world).ensureChannels, func(*world) ask { return ask{method: http.MethodDelete, path: "/operations/channels/mail"} }),
		"put-slack-channel": func(w *world) ask {
			return ask{method: http.MethodPut, path: "/operations/channels/slack", body: `{"webhookUrl":"` + w.slack.WebhookURL() + `"}`}
		},
		"delete-slack-channel": after((*world).ensureChannels, func(*world) ask { return ask{method: http.MethodDelete, path: "/operations/channels/slack"} }),
		"test-channel":         func(*world) ask { return ask{method: http.MethodPost, path: "/operations/channels/mail/test"} },
		"put-policies": func(*world) ask {
			return ask{method: http.MethodPut, path: policies, header: http.Header{"If-Match": {"*"}}, body: `{"policies":[]}`}
		},
		"put-policies, pending": func(w *world) ask {
			w.govern(`@approval("agree") forbid (principal is User, action, resource) unless { context.approval == context.digest };`)
			return ask{method: http.MethodPut, path: policies, header: http.Header{"If-Match": {"*"}}, body: `{"policies":[]}`}
		},
		"test-policies": post(policies+"/test", `{"principal":{"type":"integration","id":"github"},"action":"goal.update",`+
			`"resource":{"type":"goal","title":"Ship","state":"closed"}}`),
		"get-approval":   func(w *world) ask { return get(approvals + "/" + w.wanted("1"))(w) },
		"approve-action": func(w *world) ask { return post(approvals+"/"+w.wanted("2")+"/approve", "")(w) },
		"withdraw-approval": func(w *world) ask {
			return post(approvals+"/"+w.pending("4", timeline.Reference{Type: user.Entity, ID: w.founder})+"/withdraw", "")(w)
		},
		"reject-action": func(w *world) ask { return post(approvals+"/"+w.wanted("3")+"/reject", "")(w) },
	}
}

// govern replaces the company's policies by an enforcing policy.
func (w *world) govern(text string) {
	_, version, err := policy.Load(w.t.Context(), w.tenant())
	errtest.Must(w.t, err)
	one := policy.Stored{Policies: []policy.Statement{{ID: "ask", Mode: policy.Enforce, Text: text}}}
	errtest.Must(w.t, w.tenant().Commit(w.t.Context(), policy.Save(w.tenant(), version, one)))
}

// wanted stores the approval of a new memory and returns its id.
func (w *world) wanted(externalID string) string { return w.pending(externalID, timeline.Reference{}) }

// pending stores an approval that by asked for, or the integration.
func (w *world) pending(externalID string, by timeline.Reference) string {
	payload, err := json.Marshal(map[string]any{"memory": map[string]string{
		"externalId": externalID, "kind": "issue", "title": prose(1, titleSize), "body": prose(1, bodySize),
	}})
	errtest.Must(w.t, err)
	d := w.decision(1)
	d.ID, d.At, d.ActionDigest = id.New(), w.clock.Now().Add(time.Second), externalID // later than the users
	a := approval.New(d, payload, prose(1, titleSize), cmp.Or(by, d.Principal))
	errtest.Must(w.t, w.tenant().Commit(w.t.Context(), a.Request(w.tenant(), 0)...))
	return a.ID
}

func reliabilityRequests() map[string]func(*world) ask {
	return map[string]func(*world) ask{
		"erase-company": post("/operations/erasure", `{"name":"Acme"}`),
		"replay-dead-letters": func(w *world) ask {
			return post("/operations/dead-letters/replay", `{"since":"`+w.clock.Now().Add(-time.Hour).Format(time.RFC3339)+`","provider":"webhook"}`)(w)
		},
	}
}

func (w *world) forged() ask {
	a := w.arrival("msg_3", "1", "Printer on fire")
	a.body, a.status = a.body+" ", http.StatusUnauthorized
	return a
}

// flooded receives the next forged arrival when the process has just written the refusal of five.
func (w *world) flooded() func() {
	server := w.server()
	for range 5 {
		w.do(server, w.forged(), nil)
	}
	return func() { w.do(server, w.forged(), nil) }
}

func inboundRequests() map[string]func(*world) ask {
	return map[string]func(*world) ask{
		"receive-webhook":           func(w *world) ask { return w.arrival("msg_1", "1", "Printer on fire") },
		"receive-webhook, a repeat": func(w *world) ask { return w.arrival("msg_1", "1", "Printer on fire") },
		"receive-webhook, a change": func(w *world) ask { return w.arrival("msg_2", "1", "Printer still on fire") },
		"receive-webhook, forged":   (*world).forged,
		"receive-webhook, refused": func(w *world) ask {
			a := w.signed("msg_5", map[string]any{"type": "memory.delete", "data": map[string]any{}})
			a.status = http.StatusUnprocessableEntity
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
