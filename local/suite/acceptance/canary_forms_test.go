package acceptance_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// plant makes a secret of a name. Its last characters differ in every escaped form.
func (c *canaries) plant(name string) string {
	c.secrets[name] = "canary-" + strings.ReplaceAll(name, " ", "-") + `-"&<+/>?`
	return c.secrets[name]
}

// key makes a signing secret of Standard Webhooks.
func (c *canaries) key(name string) string {
	c.secrets[name] = "whsec_" + base64.StdEncoding.EncodeToString([]byte("canary of 24 bytes or more: "+name))
	return c.secrets[name]
}

// keep notes a secret that the service has made or that follows from others.
func (c *canaries) keep(name, secret string) string {
	c.t.Helper()
	if len(secret) < 8 {
		c.t.Fatalf("%s = %q, want at least 8 bytes", name, secret)
	}
	c.secrets[name] = secret
	return secret
}

// forms returns how a secret could stand in a file or an answer, by the name of the form.
func forms(secret string) map[string]string {
	raw := []byte(secret)
	all := map[string]string{
		"in the clear": secret, "in hex": hex.EncodeToString(raw), "in a query": url.QueryEscape(secret), "in a path": url.PathEscape(secret),
		"in quotes": strings.Trim(strconv.Quote(secret), `"`), "in JSON": inJSON(secret, true), "in plain JSON": inJSON(secret, false),
		"in JSON in JSON": inJSON(inJSON(secret, false), true), "in plain JSON in JSON": inJSON(inJSON(secret, false), false),
	}
	inBase64(all, "in base64", raw)
	if key, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if decoded, err := base64.StdEncoding.DecodeString(key); err == nil {
			all["as a key"], all["as a key in hex"] = string(decoded), hex.EncodeToString(decoded)
			inBase64(all, "as a key in base64", decoded)
		}
	}
	return all
}

// inBase64 adds how base64 shows a secret within a longer text, at each of the three places that it can have there. It leaves
// out the characters that the text around the secret changes.
func inBase64(all map[string]string, name string, raw []byte) {
	for at := range 3 {
		padded := append(make([]byte, at), raw...)
		from, until := (at*8+5)/6, len(padded)*8/6
		all[fmt.Sprint(name, " at ", at)] = base64.RawStdEncoding.EncodeToString(padded)[from:until]
		all[fmt.Sprint(name, " for urls at ", at)] = base64.RawURLEncoding.EncodeToString(padded)[from:until]
	}
}

// inJSON returns a text as it stands within a JSON string.
func inJSON(text string, escapeHTML bool) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	if err := encoder.Encode(text); err != nil {
		panic(err) // a string can always be encoded
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
}
