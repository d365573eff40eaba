package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"orgops/shared/domain/executive"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/testkit/errtest"
)

// reply is what the endpoint answered.
type reply struct {
	StatusCode int
	Header     http.Header
	Body       io.Reader
}

// post sends one message to company A's endpoint.
func (s *service) post(bearer, body string, headers ...string) reply {
	s.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, s.at+s.path("/mcp"), strings.NewReader(body))
	errtest.Must(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	errtest.Must(s.t, err)
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	errtest.Must(s.t, err)
	return reply{answer.StatusCode, answer.Header, bytes.NewReader(got)}
}

const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// TestList checks what the list of tools costs a model, and that each tool has all hints and both schemas.
func TestList(t *testing.T) {
	t.Parallel()
	s := setup(t)
	answer := s.post(s.mcpToken(s.A.Token), list)
	body, err := io.ReadAll(answer.Body)
	errtest.Must(t, err)
	if tokens := len(body) / 4; tokens > 6000 {
		t.Errorf("the list costs %d tokens, want at most 6000", tokens)
	}
	var got struct {
		Result struct {
			Tools []struct {
				Name, Title, Description  string
				InputSchema, OutputSchema struct{ Type string }
				Annotations               map[string]any
			}
		}
	}
	errtest.Must(t, json.Unmarshal(body, &got))
	if n := len(got.Result.Tools); n != 15 {
		t.Errorf("%d tools, want 15", n)
	}
	for _, tool := range got.Result.Tools {
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if tool.Annotations[hint] == nil {
				t.Errorf("%s lacks %s", tool.Name, hint)
			}
		}
		if diff := cmp.Diff([]string{"object", "object"}, []string{tool.InputSchema.Type, tool.OutputSchema.Type}); diff != "" {
			t.Errorf("%s: types of the schemas (-want +got):\n%s", tool.Name, diff)
		}
		if tool.Description == "" {
			t.Errorf("%s has no description", tool.Name)
		}
	}
}

// TestList_Scopes checks that a caller sees the tools of its scopes alone, and cannot tell a hidden tool from an unknown one.
func TestList_Scopes(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, tt := range []struct {
		name, token string
		want        []string
	}{
		{"goals", s.Token(s.A.ID, user.ScopeMemoryRead), []string{"get-memory", "list-goals", "list-memories"}},
		{"one integration", s.BoundToken(s.A.ID, "webhook"), []string{"get-memory", "list-goals", "list-integrations", "list-memories"}},
		{"operator", s.UserToken(s.A.ID, "u-operator", user.Operator), []string{"get-approval", "list-approvals"}},
	} {
		c := s.connect(tt.token)
		if diff := cmp.Diff(tt.want, s.names(c)); diff != "" {
			t.Errorf("%s: tools (-want +got):\n%s", tt.name, diff)
		}
		_, hidden := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "claim-recommendation", Arguments: map[string]any{"recommendationId": "x", "ifMatch": "0"}})
		_, unknown := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "no-such-tool", Arguments: map[string]any{}})
		of := func(err error) string {
			var e *jsonrpc.Error
			if !errors.As(err, &e) {
				t.Fatalf("%s: error %v, want one of JSON-RPC", tt.name, err)
			}
			return strings.NewReplacer("claim-recommendation", "TOOL", "no-such-tool", "TOOL").Replace(e.Error())
		}
		if diff := cmp.Diff(of(unknown), of(hidden)); diff != "" {
			t.Errorf("%s: a hidden tool answers otherwise than an unknown one (-unknown +hidden):\n%s", tt.name, diff)
		}
	}
}

// TestGuard checks the refusals before any message is read.
func TestGuard(t *testing.T) {
	t.Parallel()
	s := setup(t)
	metadata := `resource_metadata="` + token.MCPMetadata(base, s.A.ID) + `"`
	issue := func(c token.Claims) string {
		c.Plan = "free"
		text, err := s.Signer.Issue(c)
		errtest.Must(t, err)
		return text
	}
	claims := token.Claims{Subject: s.A.UserID, Company: s.A.ID, Role: string(user.Founder), Scopes: user.Founder.Scopes()}
	own, others := claims, claims
	own.Resource, others.Resource = token.MCPResource(base, s.A.ID), token.MCPResource(base, s.B.ID)
	for _, tt := range []struct {
		name, token string
		headers     []string
		status      int
		challenge   []string
	}{
		{"no token", "", nil, 401, []string{metadata, `scope="intelligence:read`}},
		{"a broken token", "x.y.z", nil, 401, []string{metadata, `error="invalid_token"`}},
		{"another resource's token", issue(others), nil, 401, []string{metadata, `error="invalid_token"`}},
		{"another company's token", s.mcpToken(s.B.Token), nil, 401, []string{metadata}},
		{"no scope", s.mcpToken(s.Token(s.A.ID)), nil, 403, []string{metadata, `error="insufficient_scope"`, "intelligence:read", "executives:act"}},
		{"a founder's token of the API", s.A.Token, nil, 401, []string{metadata, `error="invalid_token"`}},
		{"the resource's token", issue(own), nil, 200, nil},
		{"a foreign origin", issue(own), []string{"Origin", "https://evil.example"}, 403, nil},
		{"its own origin", issue(own), []string{"Origin", s.at}, 200, nil},
		{"a foreign host", issue(own), []string{"Host", "evil.example"}, 403, nil},
		{"its own host", issue(own), []string{"Host", "orgops.test"}, 200, nil},
	} {
		answer := s.post(tt.token, list, tt.headers...)
		if answer.StatusCode != tt.status {
			t.Errorf("%s: status = %d, want %d", tt.name, answer.StatusCode, tt.status)
		}
		for _, part := range tt.challenge {
			if got := answer.Header.Get("WWW-Authenticate"); !strings.Contains(got, part) {
				t.Errorf("%s: WWW-Authenticate = %s, want %s in it", tt.name, got, part)
			}
		}
	}
	for _, method := range []string{"GET", "DELETE", "PUT"} {
		if got := s.Do(method, s.path("/mcp"), s.A.Token, nil, "Host", "orgops.test"); got.Status != 405 {
			t.Errorf("%s: status = %d, want 405", method, got.Status)
		}
	}
	s.Do("GET", s.path("/intelligence/brief"), issue(own), nil).WantProblem(401, "unauthenticated")
	s.Do("GET", s.path("/intelligence/brief"), s.A.Token, nil).Want(200)
}

// TestRevisions checks both eras of the protocol, and what is common to all answers.
func TestRevisions(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const newest = "2026-07-28"
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + newest + `","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	for _, tt := range []struct {
		name, version, method, body string
		status                      int
		want                        []string
	}{
		{"initialize", "", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, 200, []string{`"protocolVersion":"2025-11-25"`, `"tools":{}`}},
		{"the old era", "2025-06-18", "", list, 200, []string{`"tools":[`}},
		{"discover", newest, "server/discover", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, 200, []string{newest, `"cacheScope":"private"`}},
		{"the new era", newest, "tools/list", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`, 200, []string{`"tools":[`, `"cacheScope":"private"`}},
		{"an unknown revision", "2024-01-01", "", list, 400, []string{"-32022", newest}},
		{"no JSON-RPC", "", "", `{"id":1}`, 400, []string{`"code":-32600`}},
	} {
		answer := s.post(s.mcpToken(s.A.Token), tt.body, "Mcp-Protocol-Version", tt.version, "Mcp-Method", tt.method)
		body, err := io.ReadAll(answer.Body)
		errtest.Must(t, err)
		if answer.StatusCode != tt.status {
			t.Errorf("%s: status = %d, want %d: %s", tt.name, answer.StatusCode, tt.status, body)
		}
		for _, part := range tt.want {
			if !strings.Contains(string(body), part) {
				t.Errorf("%s: answer lacks %s: %s", tt.name, part, body)
			}
		}
		if strings.Contains(string(body), `"logging"`) {
			t.Errorf("%s: logging is advertised", tt.name)
		}
		if got := answer.Header.Get("Mcp-Session-Id"); got != "" {
			t.Errorf("%s: session %s, want none", tt.name, got)
		}
	}
}

// TestCall reads with each tool, through the library's client.
func TestCall(t *testing.T) {
	t.Parallel()
	s := setup(t)
	c := s.connect(s.A.Token)
	for _, tool := range []string{"get-brief", "get-health", "get-readiness", "list-recommendations", "list-memories", "list-goals", "list-timeline", "list-integrations", "list-approvals"} {
		got := s.call(c, tool, nil)
		if got["trusted"] != false {
			t.Errorf("%s: trusted = %v, want false", tool, got["trusted"])
		}
		var over map[string]any
		s.Do("GET", s.path(pathOf(tool)), s.A.Token, nil, "Host", "orgops.test").Want(200).JSON(&over)
		for name := range over {
			if _, there := got[name]; !there {
				t.Errorf("%s lacks %s, which the API answers", tool, name)
			}
		}
	}
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "list-timeline", Arguments: map[string]any{"since": "yesterday", "colour": 1}})
	errtest.Must(t, err)
	if !r.IsError {
		t.Error("unknown and bad arguments are no error")
	}
	if text := textOf(r); !strings.Contains(text, "/colour") {
		t.Errorf("answer = %s, want the unknown argument", text)
	}
}

func pathOf(tool string) string {
	return map[string]string{
		"get-brief": "/intelligence/brief", "get-health": "/mission-control/health", "get-readiness": "/mission-control/readiness",
		"list-recommendations": "/intelligence/recommendations", "list-memories": "/memory", "list-goals": "/goals", "list-timeline": "/mission-control/timeline",
		"list-integrations": "/integrations", "list-approvals": "/operations/approvals",
	}[tool]
}

// TestResources reads the brief, the context and a record, and finds nothing that the token may not read.
func TestResources(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var goal struct{ ID string }
	s.Do("POST", s.path("/goals"), s.A.Token, map[string]any{"title": "Ship it", "dueAt": "2030-01-01T00:00:00Z"}).Want(201).JSON(&goal)
	c := s.connect(s.A.Token)
	for _, uri := range []string{"orgops://company/brief", "orgops://company/context", "orgops://company/goal/" + goal.ID} {
		got, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		errtest.Must(t, err)
		if !strings.Contains(got.Contents[0].Text, `"trusted":false`) {
			t.Errorf("%s is not marked as data: %s", uri, got.Contents[0].Text)
		}
	}
	prompts, err := c.ListPrompts(t.Context(), nil)
	errtest.Must(t, err)
	if len(prompts.Prompts) != 1 {
		t.Errorf("%d prompts, want 1", len(prompts.Prompts))
	}
	if _, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "morning-brief"}); err != nil {
		t.Error(err)
	}
	goals := s.connect(s.Token(s.A.ID, user.ScopeMemoryRead))
	for _, uri := range []string{"orgops://company/brief", "orgops://company/approval/x", "orgops://company/nothing"} {
		if _, err := goals.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("a token of memories reads %s", uri)
		}
	}
}

// TestAct lets an executive ask for an action that needs an approval. The answer is no error, a repeat joins it, and a founder's
// decision shows in the next answer.
// TestAct_Again makes a new request of a repeated call whose action ended without an approval, and tells once how an approved one ended.
func TestAct_Again(t *testing.T) {
	t.Parallel()
	s := setup(t)
	c := s.connect(s.hire("Chief of Staff", []executive.Action{"timeline.note"}))
	note := map[string]any{"action": "timeline.note", "input": map[string]any{"title": "Good morning"}}
	first, second := s.call(c, "act-as-executive", note), s.call(c, "act-as-executive", note)
	if got := [3]any{first["state"], second["state"], first["id"] != second["id"]}; got != [3]any{"done", "done", true} {
		t.Errorf("two equal calls: %v, want two actions that are done", got)
	}
	s.govern("no-notes", `@reason("not now")
forbid (principal, action == Action::"timeline.note", resource);`)
	denied, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "act-as-executive", Arguments: note})
	errtest.Must(t, err)
	if !denied.IsError {
		t.Errorf("an action that the policies deny: %s, want a refusal", textOf(denied))
	}
	r := s.Do("GET", s.path("/operations/policies"), s.A.Token, nil).Want(200)
	s.Do("PUT", s.path("/operations/policies"), s.A.Token, map[string]any{"policies": []map[string]string{{
		"id": "ask", "mode": "enforce", "text": `@approval("a founder decides on notes")
forbid (principal, action == Action::"timeline.note", resource) unless { context.approval == context.digest };`,
	}}}, "If-Match", r.Header.Get("ETag")).Want(200)
	pending := s.call(c, "act-as-executive", note)
	if got := pending["status"]; got != "pending" {
		t.Fatalf("after the policies have changed: %v, want pending", pending)
	}
	s.Do("POST", s.path("/operations/approvals/"+pending["approvalId"].(string)+"/approve"), s.A.Token, nil).Want(200)
	if told := s.call(c, "act-as-executive", note); told["id"] != pending["actionId"] {
		t.Errorf("after the approval: %v, want how the action %v ended", told, pending["actionId"])
	}
	if again := s.call(c, "act-as-executive", note); again["status"] != "pending" {
		t.Errorf("a further call: %v, want another action that waits", again)
	}
}

func TestAct(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.govern("ask-for-notes", `@approval("a founder decides on notes")
forbid (principal, action == Action::"timeline.note", resource) unless { context.approval == context.digest };`)
	c := s.connect(s.hire("Chief of Staff", []executive.Action{"timeline.note"}, user.ScopeOperationsRead))
	if got, want := s.names(c), []string{"act-as-executive", "get-approval", "list-approvals"}; !slices.Equal(got, want) {
		t.Errorf("tools = %v, want %v", got, want)
	}
	note := map[string]any{"action": "timeline.note", "input": map[string]any{"title": "Good morning"}}
	first := s.call(c, "act-as-executive", note)
	for _, name := range []string{"approvalId", "actionId", "expiresAt"} {
		if text, _ := first[name].(string); text == "" {
			t.Errorf("the answer lacks %s: %v", name, first)
		}
	}
	if got, _ := first["url"].(string); !strings.HasSuffix(got, "/console/#/operations/approvals?company="+s.A.ID) {
		t.Errorf("url = %s, want the page of the company", got)
	}
	if got := first["status"]; got != "pending" {
		t.Errorf("status = %v, want pending", got)
	}
	if diff := cmp.Diff(first, s.call(c, "act-as-executive", note)); diff != "" {
		t.Errorf("a repeat does not join (-first +repeat):\n%s", diff)
	}
	approval := s.path("/operations/approvals/" + first["approvalId"].(string))
	if got := s.call(c, "get-approval", map[string]any{"approvalId": first["approvalId"]})["state"]; got != "pending" {
		t.Errorf("state = %v, want pending", got)
	}
	s.Do("POST", approval+"/approve", s.A.Token, nil).Want(200)
	if got := s.call(c, "act-as-executive", note)["state"]; got != "done" {
		t.Errorf("state = %v, want done", got)
	}
	if got := s.call(c, "get-approval", map[string]any{"approvalId": first["approvalId"]})["state"]; got != "approved" {
		t.Errorf("state = %v, want approved", got)
	}
}
