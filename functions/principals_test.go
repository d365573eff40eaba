package functions_test

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	gocmp "github.com/google/go-cmp/cmp"

	"orgops/functions"
	"orgops/shared/domain/client"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/provider/catalog"
	"orgops/shared/provider/policyengine"
	"orgops/shared/run/boot"
	"orgops/shared/testkit/webtest"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

// principal is one kind of caller, with a token.
type principal struct{ kind, token string }

// offices serves every group, with tokens of every kind of principal.
type offices struct {
	*webtest.Harness
	executive string // its id
}

func newOffices(t *testing.T) (*offices, []principal) {
	t.Helper()
	h := webtest.New(t)
	out := outbound.New(outbound.Options{})
	functions.Mount(h.API(), boot.New(boot.Parts{
		Store: h.Store, Vault: h.Vault, Connectors: catalog.All(out, time.Now), Client: out, Engine: policyengine.New(time.Now), Now: time.Now,
		Keys: token.AtHand{Signs: h.Signer, Verifies: h.Verifier.Keys}, Base: "https://orgops.test", Logger: slog.New(slog.DiscardHandler),
	}))
	o := &offices{h, executive.IDOf("Chief of Staff")}
	founder := h.UserToken(h.A.ID, h.A.UserID, user.Founder)
	reads := user.Member.Scopes()
	o.post("/executives", map[string]any{"name": "Chief of Staff", "role": "Keeps order", "owner": h.A.UserID, "actions": executive.Actions(), "reads": reads}, nil)
	acts := o.machine(map[string]any{"executive": o.executive})
	var acting struct {
		Token string `json:"access_token"`
	}
	const kind = "urn:ietf:params:oauth:token-type:access_token"
	h.Do("POST", "/auth/token", "", map[string]any{
		"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": founder, "subject_token_type": kind, "actor_token": acts, "actor_token_type": kind,
	}).Want(200).JSON(&acting)
	return o, []principal{
		{"founder", founder}, {"member", h.UserToken(h.A.ID, "u-member", user.Member)}, {"operator", h.UserToken(h.A.ID, "u-operator", user.Operator)},
		{"integration", o.integration()}, {"client", o.machine(map[string]any{"scopes": client.Grantable()})}, {"executive", acts}, {"acting for a founder", acting.Token},
	}
}

func (o *offices) post(path string, body, into any) {
	r := o.Do("POST", "/companies/"+o.A.ID+path, o.A.Token, body).Want(201)
	if into != nil {
		r.JSON(into)
	}
}

// integration returns a token of a user with the role integration.
func (o *offices) integration() string {
	text, _ := o.Signer.Issue(token.Claims{
		Subject: "u-integration", Company: o.A.ID, Plan: "free", Role: string(user.Integration), Scopes: user.Integration.Scopes(), Provider: "webhook",
	})
	return text
}

// machine returns a token of a client of the founder.
func (o *offices) machine(more map[string]any) string {
	body := map[string]any{"name": "Machine", "purpose": "Tests", "owner": o.A.UserID}
	for name, v := range more {
		body[name] = v
	}
	var made struct{ ClientID, ClientSecret string }
	o.post("/operations/clients", body, &made)
	var issued struct {
		Token string `json:"access_token"`
	}
	o.Do("POST", "/auth/token", "", map[string]any{"grant_type": "client_credentials", "client_id": made.ClientID, "client_secret": made.ClientSecret}).
		Want(200).JSON(&issued)
	return issued.Token
}

// forMCP returns a token for the MCP endpoint with the claims of a token for the API.
func (o *offices) forMCP(text string) string {
	claims, _ := o.Verifier.Verify(text)
	claims.Resource = token.MCPResource("https://orgops.test", claims.Company)
	again, _ := o.Signer.Issue(claims)
	return again
}

// allows reports whether a principal gets as far as the operation itself: any answer but 401 and 403 for its rights.
func (o *offices) allows(method, path, operation, bearer string) bool {
	path = strings.NewReplacer("{companyId}", o.A.ID, "{provider}", "webhook", "{executiveId}", o.executive, "{", "", "}", "").Replace(path)
	// What is one's own needs a login of the principal, and delete-executive ends tokens. An unknown parameter is refused after the rights.
	if strings.HasPrefix(path, "/auth/") || operation == "delete-executive" {
		path += "?unknown=1"
	}
	if operation == "call-mcp" { // it takes tokens of its own
		bearer = o.forMCP(bearer)
	}
	r := o.Do(method, path, bearer, nil)
	var p web.Problem
	if r.Status == 401 || r.Status == 403 {
		r.JSON(&p)
	}
	return p.Type != "/problems/forbidden" && p.Type != "/problems/insufficient-scope" && r.Status != 401
}

// TestPrincipals asks for every operation as every kind of principal. PRINCIPALS.md lists which of them may; everything else is 403.
func TestPrincipals(t *testing.T) {
	t.Parallel()
	o, principals := newOffices(t)
	table := "| operation | scope |"
	for _, p := range principals {
		table += " " + p.kind + " |"
	}
	table += "\n|---|---|" + strings.Repeat("---|", len(principals)) + "\n"
	operations := slices.Clone(o.Server.Operations())
	slices.SortFunc(operations, func(a, b *huma.Operation) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})
	never := []string{user.ScopeIntegrationsWrite, user.ScopeOperationsWrite, user.ScopeExecutivesWrite}
	for _, op := range operations {
		if len(op.Security) == 0 {
			continue
		}
		var scopes []string
		configures := false
		for _, needs := range op.Security {
			scopes = append(scopes, strings.Join(needs["bearer"], " "))
			configures = configures || slices.ContainsFunc(needs["bearer"], func(s string) bool { return slices.Contains(never, s) })
		}
		row := fmt.Sprintf("| %s %#q | %s |", op.Method, strings.TrimPrefix(op.Path, "/companies/{companyId}"), cmp.Or(strings.Join(scopes, " or "), "any"))
		for n, p := range principals {
			mark := ""
			if o.allows(op.Method, op.Path, op.OperationID, p.token) {
				mark = "yes"
				if machine := n >= 4; machine && configures && op.OperationID != "act-as-executive" {
					t.Errorf("%s is open to the principal %s, want a person alone", op.OperationID, p.kind)
				}
			}
			row += " " + mark + " |"
		}
		table += row + "\n"
	}
	const begin, end = "<!-- principals: written by go test ./functions -run TestPrincipals -update -->\n", "<!-- end of principals -->"
	content, err := os.ReadFile("PRINCIPALS.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(content), begin)
	shown, after, _ := strings.Cut(rest, end)
	if *update {
		if err := os.WriteFile("PRINCIPALS.md", []byte(before+begin+table+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		shown = table
	}
	if diff := gocmp.Diff(table, shown); diff != "" {
		t.Errorf("PRINCIPALS.md differs; run the test with -update and review who may do more (-want +got):\n%s", diff)
	}
}
