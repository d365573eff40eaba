package blackbox_test

import "fmt"

// removal lets a full sync find that most of a list is gone. It waits for a user before it removes anything: the first run is
// confirmed, which a member cannot do, and the second one is cancelled.
func removal(j *journey) {
	j.login()
	tickets := &ticketServer{token: "swordfish"}
	tickets.set(numbered(25))
	j.do("configure", post(j.at("/integrations/http"), object{
		"url": j.serve("tickets", tickets), "itemsPath": "/data", "idPath": "/id", "titlePath": "/subject", "target": "memory",
		"auth": "bearer", "permissions": []string{"sync.pull", "memory.upsert"},
	}))
	j.peek(call("PUT", j.at("/integrations/http/credentials"), object{"credentials": object{"token": tickets.token}}))
	j.certify("http")
	j.synced("25 tickets are stored", object{})

	tickets.set(numbered(5))
	heavy := j.waits("20 tickets would be removed")
	j.do("nothing is removed", get(j.at("/memory?title=Ticket%2024")))
	j.calm("the run waits")
	j.do("what to do about it", get(j.at("/intelligence/recommendations")))
	member := j.colleague("member")
	j.do("a member confirms", post(heavy+"/confirm", nil).bearing("member", member))
	j.do("the founder confirms", post(heavy+"/confirm", nil))
	j.settle("they are removed", get(heavy), ended)
	j.do("one of them", get(j.at("/memory?title=Ticket%2024")))
	j.do("it is confirmed once", post(heavy+"/confirm", nil))

	tickets.set([]string{})
	empty := j.waits("the list is empty")
	j.do("the founder cancels", post(empty+"/cancel", nil))
	j.settle("the run has ended", get(empty), ended)
	j.do("a cancelled run is not confirmed", post(empty+"/confirm", nil))
	j.do("the five are kept", get(j.at("/memory?title=Ticket%204")))
}

// numbered makes the titles of n tickets.
func numbered(n int) (titles []string) {
	for i := range n {
		titles = append(titles, fmt.Sprintf("Ticket %d", i))
	}
	return titles
}

// ended reports whether a run or a recovery has ended.
func ended(a answer) bool { return decode[struct{ FinishedAt string }](a.body).FinishedAt != "" }

// waits requests a full sync of the list, waits until its run asks for a user, and returns the path of the run.
func (j *journey) waits(name string) (path string) {
	j.t.Helper()
	var run struct{ ID string }
	if a := j.peek(post(j.at("/memory/sync/http"), object{"mode": "full"})).json(&run); run.ID == "" {
		j.t.Fatalf("sync: %s", a)
	}
	path = j.at("/memory/syncs/" + run.ID)
	j.settle(name, get(path), func(a answer) bool {
		return decode[struct{ State string }](a.body).State == "awaiting-confirmation"
	})
	return path
}
