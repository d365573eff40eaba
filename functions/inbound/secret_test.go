package inbound_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

// TestReceive_AnySecret verifies arrivals with a secret that is any text, byte for byte as it was typed at the provider.
func TestReceive_AnySecret(t *testing.T) {
	t.Parallel()
	secrets := []string{
		"eight ch", "  spaces at both ends  ", "100% & <tags> \"quoted\" \\ '", "whsec_not+base64=", "tab\tand\nline", "пароль-密码-🔑", "e\u0301 is not \u00e9", "nul\x00byte",
		strings.Repeat("ä", 256), "%00%0a%zz",
	}
	sign := func(secret, body string) string {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		return hex.EncodeToString(mac.Sum(nil))
	}
	for _, secret := range secrets {
		t.Run(secret[:4], func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.integrations("POST", "/github", map[string]any{"repository": "octo/app", "signingSecret": secret}).Want(201)
			s.integrations("POST", "/linear", map[string]any{}).Want(201)
			s.integrations("POST", "/linear/secret", map[string]any{"signingSecret": secret}).Want(200)
			body := `{"action":"opened","repository":{"full_name":"octo/app"},"issue":{"number":1,"title":"t"}}`
			github := func(secret string) []string {
				return []string{"X-Hub-Signature-256", "sha256=" + sign(secret, body), "X-GitHub-Delivery", "d", "X-GitHub-Event", "issues"}
			}
			s.post("/inbound/"+s.A.ID+"/github", body, github(secret)...).Want(202)
			s.post("/inbound/"+s.A.ID+"/github", body, github(strings.TrimSpace(secret)+"x")...).Want(401)
			s.post("/inbound/"+s.A.ID+"/linear", body, "Linear-Signature", sign(secret, body)).Want(202)
			s.post("/inbound/"+s.A.ID+"/linear", body, "Linear-Signature", sign(secret+"x", body)).Want(401)
		})
	}
	s := setup(t)
	for _, refused := range []string{"seven c", strings.Repeat("a", 257)} {
		s.integrations("POST", "/github", map[string]any{"repository": "octo/app", "signingSecret": refused}).WantProblem(422, "invalid")
	}
}
