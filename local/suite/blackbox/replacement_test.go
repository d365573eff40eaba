package blackbox_test

import "net/http"

// replacement lets a founder ask to loosen the policies, which a second person approves. A request that the policies have overtaken
// replaces nothing.
func replacement(j *journey) {
	j.login()
	operator := j.colleague("operator") // whose role is older than what is asked
	guarded := object{
		"id": "guarded", "mode": "enforce", "text": `@approval("two people loosen the policies") forbid (principal, action == Action::"policies.replace", resource) ` +
			`when { resource.loosens } unless { context.approval == context.digest };`,
	}
	quiet := object{"id": "quiet", "mode": "enforce", "text": `forbid (principal, action == Action::"timeline.note", resource);`}
	still := object{"id": "still", "mode": "enforce", "text": `forbid (principal, action == Action::"memory.delete", resource);`}
	replace := func(policies ...object) request {
		if policies == nil {
			policies = []object{}
		}
		return call(http.MethodPut, j.at("/operations/policies"), object{"policies": policies}).with("If-Match", "*")
	}
	answer := func(id, with string) request {
		return post(j.at("/operations/approvals/"+id+"/"+with), nil).bearing("operator", operator)
	}
	shown := get(j.at("/operations/policies"))
	var asked struct{ Approval struct{ ID string } }
	j.do("policies", replace(guarded, quiet))
	j.do("an operator replaces them", replace(quiet).bearing("operator", operator))
	j.do("ask to loosen them", replace(guarded)).json(&asked)
	j.do("the same request again", replace(guarded))
	j.do("who asked approves", post(j.at("/operations/approvals/"+asked.Approval.ID+"/approve"), nil))
	j.do("they are as before", shown)
	j.do("another user approves", answer(asked.Approval.ID, "approve"))
	j.do("they are replaced", shown)
	j.do("ask to remove all", replace()).json(&asked)
	j.do("tighten them meanwhile", replace(guarded, still))
	j.do("the approval comes too late", answer(asked.Approval.ID, "approve"))
	j.do("they stay", shown)
	j.do("ask for another replacement", replace(still)).json(&asked)
	j.do("another user rejects", answer(asked.Approval.ID, "reject"))
	j.do("ask for it again", replace(still))
}
