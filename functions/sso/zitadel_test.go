package sso_test

import (
	"testing"

	"orgops/shared/testkit/ssotest"
)

// TestOIDC_Zitadel signs in at a real OpenID provider, which keeps the e-mail address for its UserInfo endpoint.
func TestOIDC_Zitadel(t *testing.T) {
	s := setup(t)
	config := object{"protocol": "oidc", "oidc": object{"issuer": ssotest.NewZitadel(t, callback).URL, "clientId": "orgops", "clientSecret": "s3cret"}}
	s.configure(config, nil).Want(200)
	b := s.browser()
	for range 2 {
		userID := s.claims(codeOf(t, b.finish(ssotest.LogIn(t, b.start(nil), callback)))).Subject
		if got := s.user(userID).Email; got != "test-user@zitadel.ch" {
			t.Errorf("e-mail = %q, want that of the provider's user", got)
		}
	}
	config["oidc"].(object)["clientSecret"] = "wrong"
	s.configure(config, nil).Want(200)
	refusal(t, b.finish(ssotest.LogIn(t, b.start(nil), callback)), 401)
}
