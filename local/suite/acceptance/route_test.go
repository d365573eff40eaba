package acceptance_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"orgops/shared/testkit/errtest"
)

// contract lists the routes that the service was asked for: method, path below the company if it begins with a dot, scope and
// success. The scope - means no token, and * any token. A row that begins with S was
// given with its path, method and fields; the others are the service's own choice.
const contract = `
S POST   /auth/login                                     -                     200
  POST   /auth/invitation                                -                     200
  POST   /auth/reset                                     -                     202
  POST   /auth/reset/{code}                              -                     200
  POST   /auth/challenge                                 -                     200
  GET    /auth/factors                                   *                     200
  POST   /auth/factors                                   *                     201
  DELETE /auth/factors/{factorId}                        *                     204
  POST   /auth/factors/{factorId}/confirm                *                     200
  POST   /auth/recovery-codes                            *                     201
  GET    /auth/unsubscribe/{token}                       -                     200
  POST   /auth/unsubscribe/{token}                       -                     200
  POST   /auth/password                                  *                     204
  POST   /auth/sign-out                                  *                     204
  GET    /auth/sso/{companyId}/start                     -                     302
  GET    /auth/connect/callback                          -                     302
  GET    /auth/sso/callback                              -                     302
  GET    /auth/slack/callback                            -                     302
  POST   /slack/interactions/{id}                        -                     200
  GET    /auth/saml/{companyId}/metadata                 -                     200
  POST   /auth/saml/{companyId}/acs                      -                     302
  POST   /auth/token                                     -                     200
  POST   /auth/revoke                                    -                     200
  GET    /auth/authorize                                 -                     302
  GET    /auth/consent                                   *                     200
  POST   /auth/consent                                   *                     200
  GET    /.well-known/oauth-authorization-server         -                     200
  GET    /.well-known/openid-configuration               -                     200
  GET    /.well-known/oauth-protected-resource/companies/{companyId}/mcp - 200
S GET    ./mission-control/health                        mission-control:read  200
S GET    ./mission-control/readiness                     mission-control:read  200
S GET    ./mission-control/dashboard                     mission-control:read  200
S GET    ./mission-control/timeline                      mission-control:read  200
S GET    ./intelligence/brief                            intelligence:read     200
S GET    ./intelligence/recommendations                  intelligence:read     200
  GET    ./intelligence/context                          intelligence:read     200
  POST   ./intelligence/recommendations/{recommendationId}/claim   intelligence:write 200
  POST   ./intelligence/recommendations/{recommendationId}/dismiss intelligence:write 200
  POST   ./intelligence/recommendations/{recommendationId}/reopen  intelligence:write 200
S GET    ./integrations                                  integrations:read     200
S POST   ./integrations/{provider}                       integrations:write    201
S POST   ./integrations/{provider}                       integrations:write    200
  GET    ./integrations/{provider}                       integrations:read     200
  DELETE ./integrations/{provider}                       integrations:write    204
  POST   ./integrations/{provider}/enable                integrations:write    200
  POST   ./integrations/{provider}/disable               integrations:write    200
  PUT    ./integrations/{provider}/credentials           integrations:write    204
  DELETE ./integrations/{provider}/credentials           integrations:write    204
  POST   ./integrations/{provider}/connect               integrations:write    200
  POST   ./integrations/{provider}/secret                integrations:write    200
  POST   ./integrations/{provider}/certification         integrations:write    200
  GET    ./integrations/{provider}/certification         integrations:read     200
  POST   ./integrations/{provider}/test                  integrations:write    200
  PUT    ./integrations/{provider}/mapping               integrations:write    200
  POST   ./integrations/{provider}/mapping/preview       integrations:write    200
  GET    ./integrations/{provider}/deliveries            integrations:read     200
  GET    ./integrations/{provider}/deliveries/{deliveryId}       integrations:read  200
  POST   ./integrations/{provider}/deliveries/{deliveryId}/retry integrations:write 202
  POST   ./integrations/{provider}/recover               integrations:write    202
  GET    ./integrations/{provider}/recoveries/{recoveryId}       integrations:read  200
  GET    ./integrations/{provider}/inbox                 integrations:read     200
  GET    ./integrations/{provider}/inbox/{inboxId}       integrations:read     200
  GET    ./connectors                                    integrations:read     200
  GET    ./connectors/{kind}                             integrations:write    200
  PUT    ./connectors/{kind}                             integrations:write    200
  DELETE ./connectors/{kind}                             integrations:write    204
  POST   ./connectors/test                               integrations:write    200
  POST   ./integrations/{provider}/filter/preview        integrations:write    200
  POST   ./integrations/{provider}/measure/preview       integrations:write    200
  GET    ./event-types                                   integrations:read     200
  GET    ./event-types/{name}                            integrations:read     200
S POST   ./memory/sync/{provider}                        memory:write          202
  GET    ./memory/syncs                                  memory:read           200
  GET    ./memory/syncs/{runId}                          memory:read           200
  POST   ./memory/syncs/{runId}/cancel                   memory:write          200
  GET    ./memory                                        memory:read           200
  GET    ./memory/{memoryId}                             memory:read           200
  GET    ./goals                                         memory:read           200
  GET    ./goals/{goalId}                                memory:read           200
  GET    ./goals/{goalId}/history                        memory:read           200
  POST   ./goals                                         memory:write          201
  PATCH  ./goals/{goalId}                                memory:write          200
  DELETE ./goals/{goalId}                                memory:write          204
  POST   /inbound/{companyId}/{provider}                 -                     202
  GET    ./operations/reliability                        operations:read       200
  GET    ./operations/metrics                            operations:read       200
  GET    ./operations/audit                              operations:read       200
  GET    ./notices                                       operations:read       200
  GET    ./operations/channels/mail                      operations:write      200
  PUT    ./operations/channels/mail                      operations:write      200
  DELETE ./operations/channels/mail                      operations:write      204
  GET    ./operations/channels/slack                     operations:write      200
  PUT    ./operations/channels/slack                     operations:write      200
  DELETE ./operations/channels/slack                     operations:write      204
  POST   ./operations/channels/{channel}/test            operations:write      200
  POST   ./operations/channels/slack/connect             operations:write      200
  GET    ./operations/decisions                          operations:read       200
  GET    ./operations/dead-letters                       operations:read       200
  POST   ./operations/dead-letters/replay                operations:write      202
  GET    ./operations/policies                           operations:read       200
  PUT    ./operations/policies                           operations:write      200
  POST   ./operations/policies/test                      operations:write      200
  GET    ./operations/approvals                          operations:read       200
  POST   ./operations/approvals/{approvalId}/approve     operations:write      200
  POST   ./operations/approvals/{approvalId}/reject      operations:write      200
  POST   ./operations/approvals/{approvalId}/withdraw    operations:write      200
  GET    ./operations/users                              operations:write      200
  POST   ./operations/users                              operations:write      201
  PATCH  ./operations/users/{userId}                     operations:write      200
  DELETE ./operations/users/{userId}                     operations:write      204
  GET    ./operations/clients                            operations:write,executives:write 200
  POST   ./operations/clients                            operations:write,executives:write 201
  GET    ./operations/clients/{clientId}                 operations:write,executives:write 200
  PATCH  ./operations/clients/{clientId}                 operations:write,executives:write 200
  DELETE ./operations/clients/{clientId}                 operations:write,executives:write 204
  POST   ./operations/clients/{clientId}/keys            operations:write,executives:write 200
  POST   ./operations/clients/{clientId}/secret          operations:write,executives:write 200
  GET    ./operations/grants                             operations:write      200
  GET    ./operations/grants/{grantId}                   operations:write      200
  DELETE ./operations/grants/{grantId}                   operations:write      204
  GET    ./operations/sso                                operations:write      200
  PUT    ./operations/sso                                operations:write      200
  DELETE ./operations/sso                                operations:write      204
  GET    ./operations/second-factor                      operations:read       200
  PUT    ./operations/second-factor                      operations:write      200
  GET    ./operations/usage                              operations:read       200
  GET    ./operations/export                             operations:write,mission-control:read,intelligence:read,integrations:read,memory:read,operations:read,executives:read 200
  POST   ./operations/erasure                            operations:write      202
  POST   ./mcp                                           *                     200
  GET    ./executives                                    executives:read       200
  POST   ./executives                                    executives:write      201
  GET    ./executives/{executiveId}                      executives:read       200
  DELETE ./executives/{executiveId}                      executives:write      204
  POST   ./executives/{executiveId}/certification        executives:write      200
  POST   ./executives/{executiveId}/actions              executives:write      202
  GET    ./executives/{executiveId}/actions              executives:read       200
  GET    ./executives/{executiveId}/actions/{actionId}   executives:read       200
  GET    /healthz                                        -                     200
  GET    /.well-known/jwks.json                          -                     200
`

// TestContract checks that the document has every route of the contract, with its scope and its success, and marks what was
// not given. TestGoldenOpenAPI checks that the service serves the document, and infra's TestRoutes that it deploys the routes.
func TestContract(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile(goldenDocument)
	errtest.Must(t, err)
	var d struct {
		Paths map[string]map[string]struct {
			Security  []map[string][]string
			Responses map[string]json.RawMessage
			Open      bool `json:"x-open-detail"`
		}
	}
	errtest.Must(t, json.Unmarshal(golden, &d))
	given := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(contract)) {
		row := strings.Fields(line)
		shown := row[0] == "S"
		if shown {
			row = row[1:]
		}
		method, path, scope, success := row[0], strings.Replace(row[1], "./", "/companies/{companyId}/", 1), row[2], row[3]
		op, ok := d.Paths[path][strings.ToLower(method)]
		if !ok {
			t.Errorf("%s %s is not in the document", method, path)
			continue
		}
		given[method+" "+path] = shown
		if got := scopeOf(op.Security); got != scope {
			t.Errorf("%s %s needs the scope %q, want %q", method, path, got, scope)
		}
		if op.Responses[success] == nil {
			t.Errorf("%s %s has no answer %s", method, path, success)
		}
	}
	if len(given) < 80 {
		t.Errorf("%d routes are in the contract, want at least 80", len(given))
	}
	for path, operations := range d.Paths {
		for method, op := range operations {
			name := strings.ToUpper(method) + " " + path
			if op.Responses != nil && op.Open == given[name] {
				t.Errorf("%s: x-open-detail = %t, want %t", name, op.Open, !given[name])
			}
		}
	}
}

// scopeOf returns the scopes that an operation needs, as the contract writes it.
func scopeOf(security []map[string][]string) string {
	if len(security) == 0 {
		return "-"
	}
	scopes := security[0]["bearer"]
	if len(scopes) == 0 {
		return "*"
	}
	return strings.Join(scopes, ",")
}

// TestContract_Pages asks for the routes of the contract that the document leaves out.
func TestContract_Pages(t *testing.T) {
	t.Parallel()
	s := start(t)
	a := s.tenant("Pages")
	a.bearer = ""
	for _, path := range []string{"/console/", "/api/docs", "/openapi.json", "/openapi.yaml"} {
		if got := a.do("GET", path, nil); got.status != 200 {
			t.Errorf("GET %s: status = %d, want 200", path, got.status)
		}
	}
}
