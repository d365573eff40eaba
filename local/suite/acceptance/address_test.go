package acceptance_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"orgops/local/suite/servicetest"
	"orgops/shared/domain/company"
	"orgops/shared/domain/sso"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

const (
	notAbsolute = "must be an absolute http or https url with a host, such as https://example.com/hooks"
	spaceAround = "begins or ends with white space; remove it"
	badPort     = "the port must be a number from 1 to 65535"
)

// oddAddresses are addresses that cannot stand in a request line as they are, or that do not lead where they seem to, with what is said
// of each.
func oddAddresses() map[string]string {
	return map[string]string{
		"https://example.com/p a":                          "has a space at byte 22; write %20",
		"https://example.com/p?q=a b":                      "has a space at byte 26; write %20",
		"https://example.com/p ":                           spaceAround,
		"\nhttps://example.com/p":                          spaceAround,
		"https://example.com/p\u00a0":                      spaceAround,
		"https://example.com/p\tq":                         "has a control character at byte 22; remove it",
		"https://example.com/p\u0000":                      "has a control character at byte 22; remove it",
		"https://example.com/p\u007f":                      "has a control character at byte 22; remove it",
		"https://example.com/%zz":                          "has a % at byte 21 without two hexadecimal digits; write %25 for a percent sign",
		"https://example.com/p\\q":                         "has a backslash at byte 22; write / between the parts of a path, or %5C",
		"https://example.com/é":                            "has a letter beyond ASCII at byte 21; write its UTF-8 percent-encoded, such as %C3%A9",
		"https://bücher.example/p":                         "write an international domain name in its ASCII form (xn--…)",
		"https://exa mple.com/p":                           "the host is not a domain name",
		"https://user:pw@example.com/p":                    "a url must not carry a user name or password",
		"https://example.com/p#top":                        "a url must not have a fragment",
		"https://example.com:/p":                           "the port after the colon is missing",
		"https://example.com:0/p":                          badPort,
		"https://example.com:70000/p":                      badPort,
		"https://[fe80::1%25eth0]/p":                       "an address with a zone is not public",
		"https://10.0.0.1/p":                               "the host's address is not public",
		"http://example.com/p":                             "must be https",
		"http:/example.com":                                notAbsolute,
		"//example.com/p":                                  notAbsolute,
		"https:///p":                                       notAbsolute,
		"ftp://example.com/p":                              notAbsolute,
		"https://example.com/" + strings.Repeat("a", 4096): "",
	}
}

// addressed is a place of a request that takes an address.
type addressed struct {
	method, path string // below a company
	body         string // with @ in the place of the address
	pointer      string
	unsaid       bool // what is wrong is said in words of the place
}

// addressedPlaces are all places of the API that take the address of another server, by their operation and their member.
func addressedPlaces() map[string]addressed {
	const manifest = `{"kind":"tickets","title":"T","description":"D","base":"@","streams":[{"name":"tickets","request":{"path":"/x"},"records":"","item":{"target":"memory","kind":"ticket","id":"/id","title":"/t"}}]}`
	list := `"itemsPath":"","idPath":"/id","titlePath":"/t","target":"memory"`
	return map[string]addressed{
		"configure-integration WebhookConfig/url":     {"POST", "/integrations/webhook-new", `{"events":["memory.*"],"url":"@"}`, "/url", false},
		"configure-integration FeedConfig/url":        {"POST", "/integrations/feed", `{"url":"@"}`, "/url", false},
		"configure-integration HTTPConfig/url":        {"POST", "/integrations/http", `{` + list + `,"url":"@"}`, "/url", false},
		"configure-integration GitHubConfig/baseUrl":  {"POST", "/integrations/github", `{"repository":"octo/app","baseUrl":"@"}`, "/baseUrl", false},
		"configure-integration GitLabConfig/host":     {"POST", "/integrations/gitlab", `{"project":"a/b","host":"@"}`, "/host", true},
		"configure-integration PlausibleConfig/host":  {"POST", "/integrations/plausible", `{"site":"example.com","host":"@"}`, "/host", true},
		"configure-integration PostgreSQLConfig/host": {"POST", "/integrations/postgresql", `{"database":"app","user":"u","host":"@"}`, "/host", true},
		"create-client Federation/issuer": {"POST", "/operations/clients",
			`{"name":"n","purpose":"p","owner":"OWNER","scopes":["memory:read"],"federation":{"issuer":"@","subject":"s","audience":"a"}}`, "/federation/issuer", false},
		"update-client ClientUpdate/issuer":                {"PATCH", "/operations/clients/CLIENT", `{"federation":{"issuer":"@","subject":"s","audience":"a"}}`, "/federation/issuer", false},
		"put-sso OpenIDProviderRequest/issuer":             {"PUT", "/operations/sso", `{"protocol":"oidc","oidc":{"issuer":"@","clientId":"c"}}`, "/oidc/issuer", false},
		"put-sso SAMLProviderRequest/metadataUrl":          {"PUT", "/operations/sso", `{"protocol":"saml","saml":{"metadataUrl":"@"}}`, "/saml/metadataUrl", false},
		"put-sso SignOnRequest/redirects":                  {"PUT", "/operations/sso", `{"protocol":"saml","saml":{"metadata":"<x/>"},"redirects":["@"]}`, "/redirects/0", false},
		"put-slack-channel SlackChannelRequest/webhookUrl": {"PUT", "/operations/channels/slack", `{"webhookUrl":"@"}`, "/webhookUrl", false},
		"put-connector base":                               {"PUT", "/connectors/tickets", manifest, "/base", true},
		"test-connector base":                              {"POST", "/connectors/test", `{"manifest":` + manifest + `}`, "/manifest/base", true},
	}
}

// TestAddresses sends odd addresses to every place that takes the address of another server. Each is refused there, with words that tell
// what to write instead.
func TestAddresses(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Acme")
	c := store.For(s.Process.Services.Store, tn.ID)
	found, version, err := company.Get(t.Context(), c)
	errtest.Must(t, err)
	found.Plan = sso.Plan
	errtest.Must(t, c.Commit(t.Context(), c.Replace(company.Key, company.Entity, version, found)))
	var users struct{ Items []struct{ ID string } }
	tn.do("GET", tn.at("/operations/users"), nil).want(200).json(&users)
	owner := users.Items[0].ID
	var client struct{ ID string }
	made := tn.do("POST", tn.at("/operations/clients"), map[string]any{"name": "n", "purpose": "p", "owner": owner, "scopes": []string{"memory:read"}}).want(201).json(&client)
	in := strings.NewReplacer("OWNER", owner, "CLIENT", client.ID)
	for name, place := range addressedPlaces() {
		for address, said := range oddAddresses() {
			text, err := json.Marshal(address)
			errtest.Must(t, err)
			body := strings.ReplaceAll(in.Replace(place.body), "@", string(text[1:len(text)-1]))
			var headers []string
			if place.method == "PATCH" {
				headers = []string{"If-Match", made.header.Get("ETag")}
			}
			answer := tn.do(place.method, tn.at(in.Replace(place.path)), []byte(body), headers...).want(422)
			wantProblemAt(t, name, address, answer, place, said)
		}
	}
}

// wantProblemAt expects a problem at the place of an address.
func wantProblemAt(t *testing.T, name, address string, a *answer, place addressed, said string) {
	t.Helper()
	var problem struct {
		Errors []struct{ Pointer, Detail string }
	}
	a.json(&problem)
	for _, p := range problem.Errors {
		if p.Pointer == place.pointer && (place.unsaid || strings.HasSuffix(p.Detail, said)) {
			return
		}
	}
	t.Errorf("%s with %.60q: %s, want a problem at %s that says %q", name, address, a.body, place.pointer, said)
}

// TestAddresses_Clients refuses the odd addresses as the address of a client's document, and leads no browser to them.
func TestAddresses_Clients(t *testing.T) {
	t.Parallel()
	s := start(t)
	query := url.Values{
		"response_type": {"code"}, "redirect_uri": {"http://127.0.0.1/"}, "code_challenge_method": {"S256"}, "scope": {"memory:read"},
		"code_challenge": {strings.Repeat("a", 43)}, "resource": {servicetest.Issuer + "/mcp"},
	}
	for address := range oddAddresses() {
		query.Set("client_id", address)
		answer := s.do("GET", "/auth/authorize?"+query.Encode(), nil).want(422)
		wantProblemAt(t, "authorize", address, answer, addressed{pointer: "#/query/client_id", unsaid: true}, "")
	}
}

// schemaNode is what these tests read of a request's schema.
type schemaNode struct {
	Ref                 string `json:"$ref"`
	AllOf, AnyOf, OneOf []schemaNode
	Properties          map[string]schemaNode
	Items               *schemaNode
}

// TestAddresses_All finds the places that take an address by the names of members, in the OpenAPI document. A place that is not in
// addressedPlaces has to be listed here, with the reason.
func TestAddresses_All(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile(goldenDocument)
	errtest.Must(t, err)
	var d struct {
		Paths map[string]map[string]struct {
			OperationID string
			RequestBody struct {
				Content map[string]struct{ Schema schemaNode }
			}
		}
		Components struct{ Schemas map[string]schemaNode }
	}
	errtest.Must(t, json.Unmarshal(golden, &d))
	compared := []string{ // with what is configured or registered, in every character
		"consent ConsentRequest/client_id", "consent ConsentRequest/redirect_uri",
		"issue-token TokenRequest/client_id", "issue-token TokenRequest/redirect_uri", "revoke-token RevocationRequest/client_id",
	}
	named := regexp.MustCompile(`(?i)(url|uri|uris|issuer|redirects?|host|client_id)$`)
	var walk func(operation, schema string, n schemaNode, depth int)
	walk = func(operation, schema string, n schemaNode, depth int) {
		if depth > 12 {
			return
		}
		if n.Ref != "" {
			schema = path.Base(n.Ref)
			n = d.Components.Schemas[schema]
		}
		for _, part := range slices.Concat(n.AllOf, n.AnyOf, n.OneOf) {
			walk(operation, schema, part, depth+1)
		}
		if n.Items != nil {
			walk(operation, schema, *n.Items, depth+1)
		}
		for name, property := range n.Properties {
			walk(operation, schema, property, depth+1)
			if !named.MatchString(name) {
				continue
			}
			place := operation + " " + schema + "/" + name
			if _, tried := addressedPlaces()[place]; !tried && !slices.Contains(compared, place) {
				t.Errorf("%s takes an address, want it in addressedPlaces", place)
			}
		}
	}
	for _, operations := range d.Paths {
		for _, o := range operations {
			for _, content := range o.RequestBody.Content {
				walk(o.OperationID, "", content.Schema, 0)
			}
		}
	}
}
