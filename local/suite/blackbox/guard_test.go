package blackbox_test

import (
	"strings"

	"orgops/shared/testkit/errtest"
)

// guard checks that a company answers only a token of its own that has the scope.
func guard(j *journey) {
	j.login()
	other, _ := j.found("Neighbour")
	j.mask.alias(other, "other company")
	const unknown = "01890000-0000-7000-8000-000000000000"
	parts := strings.Split(j.token, ".")
	forged := parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2]))

	for _, path := range []string{"/integrations", "/mission-control/health", "/intelligence/brief", "/memory"} {
		j.do("no token: "+path, get(j.at(path)).bare())
		j.do("a forged token: "+path, get(j.at(path)).bearing("forged", forged))
		j.do("another's company: "+path, get("/companies/"+other+path))
		j.do("no company: "+path, get("/companies/"+unknown+path))
	}
	list := get(j.at("/integrations"))
	j.do("words for a token", list.bearing("words", "let me in"))
	j.do("an unsigned token", list.bearing("unsigned", "eyJhbGciOiJub25lIn0."+parts[1]+"."))
	j.do("another scheme", list.bare().with("Authorization", "Basic YWRhOnBhc3M="))
	j.do("the scheme in small letters", list.bare().with("Authorization", "bearer "+j.token))
	j.do("a token in the query", get(j.at("/integrations?access_token="+j.token)).bare())
	j.do("what cannot be an id", get("/companies/%7Bid%7D/integrations"))
	j.do("the company in capitals", get("/companies/"+strings.ToUpper(j.company)+"/integrations"))
	j.do("a write without a token", post(j.at("/integrations/webhook"), object{}).bare())
	j.do("a write to another's company", post("/companies/"+other+"/integrations/webhook", object{}))
	j.do("a delete without a token", callDelete(j.at("/integrations/webhook")).bare())

	member := j.address("member")
	errtest.Must(j.t, j.target.addMember(j.t.Context(), j.company, member, password))
	token := j.loginAs(member)
	j.do("a member reads", list.bearing("member", token))
	j.do("a member writes", post(j.at("/integrations/webhook"), object{}).bearing("member", token))
}
