package blackbox_test

import "net/http"

// described connects a provider by a manifest of the company's own, which is tried, stored, certified and synced. Then the manifest
// changes.
func described(j *journey) {
	j.login()
	tickets := &ticketServer{token: "swordfish"}
	tickets.set([]string{"Printer"}, []string{"Heating"})
	manifest := object{
		"kind": "tickets", "title": "Tickets of Example", "description": "Tickets become memories.", "base": j.serve("tickets", tickets),
		"auth": object{"type": "bearer"}, "lists": object{"kinds": []string{"ticket"}},
		"streams": []object{{
			"name": "tickets", "request": object{}, "records": "/data", "paging": object{"type": "link"},
			"mapping": object{"rules": []object{{
				"when": ".item.id != null", "action": "memory.upsert",
				"with": object{"externalId": ".item.id", "kind": `"ticket"`, "title": ".item.subject", "url": ".item.url"},
			}}},
		}},
	}
	at, one := j.at("/integrations/tickets-support"), j.at("/connectors/tickets")
	credentials := object{"token": tickets.token}
	j.do("an unknown field has its place", call(http.MethodPut, one, object{"kind": "tickets", "code": "exit"}))
	j.do("try it", post(j.at("/connectors/test"), object{"manifest": manifest, "credentials": credentials, "pages": 2}))
	j.do("store it", call(http.MethodPut, one, manifest))
	j.do("configure", post(at, object{}))
	j.do("store the token", call(http.MethodPut, at+"/credentials", object{"credentials": credentials}))
	j.do("what a goal would count in it", post(at+"/measure/preview", object{"stream": "tickets", "pointer": "/id", "aggregate": "count"}))
	j.do("a number that no record has", post(at+"/measure/preview", object{"stream": "tickets", "pointer": "/price", "aggregate": "sum"}))
	j.do("it is certified", post(at+"/certification", nil))
	j.syncedOf("tickets-support", "two tickets are stored", object{})
	j.do("the memories", get(j.at("/memory")))

	j.calm("the certification is folded in") // before the next change: one fold over both writes the recommendation once
	manifest["description"] = "Tickets of the support team become memories."
	j.do("change it", call(http.MethodPut, one, manifest))
	j.calm("all is folded in")
	j.do("the integration is in the sandbox", get(at))
	j.do("it cannot be deleted", call(http.MethodDelete, one, nil))
	j.do("delete the integration", call(http.MethodDelete, at, nil))
	j.do("delete it", call(http.MethodDelete, one, nil))
}
