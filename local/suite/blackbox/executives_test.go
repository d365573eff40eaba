package blackbox_test

import (
	"fmt"
	"net/http"
)

// office is a policy by which an executive's note about the office needs the approval of a person.
const office = `@approval("the office needs a person") forbid (principal is Executive, action == Action::"timeline.note", resource) ` +
	`when { resource.subject == "office" } unless { context.approval == context.digest };`

// executives lets an automated agent try an action, do it, ask for what it may not, and wait for a person. Its last request is
// over the quota of the day.
func executives(j *journey) {
	j.login()
	operator := j.colleague("operator") // whose role is older than what is asked
	var founder struct{ Items []struct{ ID string } }
	j.peek(get(j.at("/operations/users"))).json(&founder)
	j.do("an approval for notes about the office", call(http.MethodPut, j.at("/operations/policies"), object{"policies": []object{{
		"id": "office", "mode": "enforce", "text": office,
	}}}).with("If-Match", "*"))

	all := j.at("/executives")
	draft := object{"name": "Chief of Staff", "role": "Keeps order", "owner": founder.Items[0].ID, "actions": []string{"timeline.note", "recommendation.claim"}, "quotaPerDay": 1000}
	var chief struct{ ID string }
	j.do("configure", post(all, draft)).json(&chief)
	actions := all + "/" + chief.ID + "/actions"
	n := 0
	ask := func(action string, input object) request {
		n++
		return post(actions, object{"action": action, "input": input}).with("Idempotency-Key", fmt.Sprintf("key-%d", n))
	}
	note := object{"title": "The feed has been quiet for a week", "subject": "feed"}
	j.do("try a note in the sandbox", ask("timeline.note", note))
	j.do("certify", post(all+"/"+chief.ID+"/certification", nil))
	noted := ask("timeline.note", note)
	j.do("a note", noted)
	j.do("the same request again", noted)
	j.do("an action that it does not declare", ask("integration.disable", object{"provider": "feed"}))
	var advice struct{ Items []struct{ ID string } }
	j.peek(get(j.at("/intelligence/recommendations"))).json(&advice)
	j.do("claim a recommendation", ask("recommendation.claim", object{"recommendationId": advice.Items[0].ID}))

	var waits struct{ ID, ApprovalID string }
	j.do("a note that needs an approval", ask("timeline.note", object{"title": "The office moves", "subject": "office"})).json(&waits)
	approval := j.at("/operations/approvals/" + waits.ApprovalID)
	j.do("who asked approves", post(approval+"/approve", nil))
	j.do("another user approves", post(approval+"/approve", nil).bearing("operator", operator))
	j.do("the action is done", get(actions+"/"+waits.ID))
	j.do("what is rejected", ask("timeline.note", object{"title": "The office stays", "subject": "office"})).json(&waits)
	j.do("another user rejects", post(j.at("/operations/approvals/"+waits.ApprovalID+"/reject"), nil).bearing("operator", operator))
	j.do("what is asked for by mistake", ask("timeline.note", object{"title": "The office closes", "subject": "office"})).json(&waits)
	withdraw := post(j.at("/operations/approvals/"+waits.ApprovalID+"/withdraw"), nil)
	j.do("another user withdraws", withdraw.bearing("operator", operator))
	j.do("who asked withdraws", withdraw)
	j.do("it is withdrawn once", withdraw)
	j.do("its actions", get(actions))
	draft["quotaPerDay"] = 1
	etag := j.peek(get(all + "/" + chief.ID)).header.Get("Etag")
	j.mask.alias(etag, "etag")
	j.do("one action a day", post(all, draft).with("If-Match", etag))
	j.do("over the quota", ask("timeline.note", note))
}

// colleague adds a user with a role and returns the user's token. None of it is a step.
func (j *journey) colleague(role string) (token string) {
	j.t.Helper()
	email := j.address(role)
	j.mask.alias(email, role+"'s address")
	var invited struct{ InvitationToken string }
	j.peek(post(j.at("/operations/users"), object{"email": email, "role": role})).json(&invited)
	j.peek(post("/auth/invitation", object{"token": invited.InvitationToken, "password": password}).bare())
	return j.loginAs(email)
}
