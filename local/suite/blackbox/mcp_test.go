package blackbox_test

import (
	"net/http"
	"net/url"
	"regexp"
)

var metadata = regexp.MustCompile(`resource_metadata="([^"]+)/\.well-known/oauth-protected-resource/companies/`)

// mcp lets an agent in as an executive: it lists its tools, reads the brief, and asks for a note, which waits for the founder. Before, it
// finds no way around its token.
func mcp(j *journey) {
	j.login()
	endpoint := j.mcpEndpoint()
	base := j.base()
	j.do("no token", endpoint.bare())
	j.do("the metadata that the refusal names", get("/.well-known/oauth-protected-resource"+j.at("/mcp")).bare())
	j.do("the founder's token of the API", endpoint)
	j.do("GET of the endpoint", get(j.at("/mcp")))

	token := j.agent(base)
	call := func(method string, params object) request {
		r := endpoint.bearing("agent", token)
		r.body = object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
		return r
	}
	tool := func(name string, arguments object) request {
		return call("tools/call", object{"name": name, "arguments": arguments})
	}
	j.do("initialize", call("initialize", object{"protocolVersion": "2025-11-25", "capabilities": object{}, "clientInfo": object{"name": "agent", "version": "1"}}))
	j.do("its tools", call("tools/list", object{}))
	j.calm("what the brief follows from")
	j.do("the brief", tool("get-brief", object{}))
	j.do("a tool that it may not call", tool("list-memories", object{}))
	j.do("arguments that the tool does not take", tool("act-as-executive", object{"action": "timeline.note", "input": object{"title": "a"}, "colour": "red"}))
	note := tool("act-as-executive", object{"action": "timeline.note", "input": object{"title": "The office moves"}})
	var waits struct {
		Result struct{ StructuredContent struct{ ApprovalID string } }
	}
	j.do("a note that needs an approval", note).json(&waits)
	id := waits.Result.StructuredContent.ApprovalID
	j.do("the same note again", note)
	j.do("its approval", tool("get-approval", object{"approvalId": id}))
	j.do("the founder approves", post(j.at("/operations/approvals/"+id+"/approve"), nil))
	j.do("the note is done", note)
	j.do("the endpoint's token at the API", get(j.at("/intelligence/brief")).bearing("agent", token))
}

// mcpEndpoint returns a request for the tools of the company's MCP endpoint.
func (j *journey) mcpEndpoint() request {
	return post(j.at("/mcp"), object{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).with("Accept", "application/json, text/event-stream")
}

// base returns the service's own address, as it is configured. A refusal of the MCP endpoint names it.
func (j *journey) base() string {
	j.t.Helper()
	found := metadata.FindStringSubmatch(j.peek(j.mcpEndpoint().bare()).header.Get("Www-Authenticate"))
	if found == nil {
		j.t.Fatal("the refusal names no metadata of the endpoint")
	}
	j.mask.alias(found[1], "api")
	return found[1]
}

// agent lets an executive in whose notes wait for an approval, and returns its token for the MCP endpoint of the service at base. None of
// it is a step.
func (j *journey) agent(base string) (token string) {
	j.t.Helper()
	var users struct{ Items []struct{ ID string } }
	j.peek(get(j.at("/operations/users"))).json(&users)
	owner := users.Items[0].ID
	j.peek(call(http.MethodPut, j.at("/operations/policies"), object{"policies": []object{{"id": "notes", "mode": "enforce",
		"text": `@approval("a founder reads notes first") forbid (principal is Executive, action == Action::"timeline.note", resource) ` +
			`unless { context.approval == context.digest };`,
	}}}).with("If-None-Match", "*"))
	var chief struct{ ID string }
	j.peek(post(j.at("/executives"), object{
		"name": "Chief of Staff", "role": "Keeps order", "owner": owner, "actions": []string{"timeline.note"}, "reads": []string{"intelligence:read", "operations:read"},
	})).json(&chief)
	j.peek(post(j.at("/executives/"+chief.ID+"/certification"), nil))
	var client struct{ ClientID, ClientSecret string }
	j.peek(post(j.at("/operations/clients"), object{"name": "Agent", "purpose": "Runs the chief of staff", "owner": owner, "executive": chief.ID})).json(&client)
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {client.ClientID}, "client_secret": {client.ClientSecret}, "resource": {base + j.at("/mcp")},
	}
	var session struct {
		AccessToken string `json:"access_token"`
	}
	a := j.peek(post("/auth/token", []byte(form.Encode())).with("Content-Type", "application/x-www-form-urlencoded").bare()).json(&session)
	if session.AccessToken == "" {
		j.t.Fatalf("the agent's token: %s", a)
	}
	return session.AccessToken
}
