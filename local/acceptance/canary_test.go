package acceptance_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/standardwebhooks"
)

// canaries holds the planted secrets by what they are, and what the service has written or sent.
type canaries struct {
	t       *testing.T
	secrets map[string]string
	written []output
}

// output holds something that the service wrote or sent.
type output struct {
	where   string
	content []byte
}

func (c *canaries) add(where string, content []byte) {
	c.written = append(c.written, output{where, content})
}

// plant makes a secret of a name.
func (c *canaries) plant(name, form string) string {
	c.secrets[name] = fmt.Sprintf(form, "canary-"+strings.ReplaceAll(name, " ", "-"))
	return c.secrets[name]
}

// key makes a signing secret of Standard Webhooks.
func (c *canaries) key(name string) string {
	c.secrets[name] = "whsec_" + base64.StdEncoding.EncodeToString([]byte("canary of 24 bytes or more: "+name))
	return c.secrets[name]
}

// forms returns the ways in which a secret could stand in a file or an answer.
func forms(secret string) [][]byte {
	raw := []byte(secret)
	all := [][]byte{
		raw, []byte(base64.StdEncoding.EncodeToString(raw)), []byte(base64.RawURLEncoding.EncodeToString(raw)), []byte(hex.EncodeToString(raw)),
	}
	if key, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if decoded, err := base64.StdEncoding.DecodeString(key); err == nil {
			all = append(all, []byte(key), decoded, []byte(hex.EncodeToString(decoded)))
		}
	}
	return all
}

// check looks for every secret in all that was written, except where the API shows the secret by design.
func (c *canaries) check() {
	c.t.Helper()
	for name, secret := range c.secrets {
		for _, form := range forms(secret) {
			for _, o := range c.written {
				if at := bytes.Index(o.content, form); at >= 0 {
					c.t.Errorf("%s stands in %s at byte %d, want it nowhere", name, o.where, at)
				}
			}
		}
	}
}

// files adds every file below a folder.
func (c *canaries) files(folder string) {
	c.t.Helper()
	found := 0
	errtest.Must(c.t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		found++
		c.add("the file "+filepath.Base(path), content)
		return err
	}))
	if found == 0 {
		c.t.Errorf("no files in %s, want the store's", folder)
	}
}

// control checks that the search sees what stands in the store's files in the clear.
func (c *canaries) control(text string) {
	c.t.Helper()
	for _, o := range c.written {
		if strings.HasPrefix(o.where, "the file ") && bytes.Contains(o.content, []byte(text)) {
			return
		}
	}
	c.t.Errorf("%q stands in no file, want it in the store, which is not sealed", text)
}

// TestProgram_Canary plants passwords, signing secrets, credentials and tokens in the real program, uses all of them, rightly
// and wrongly, and looks for them in every answer, event, log line and file.
func TestProgram_Canary(t *testing.T) {
	p := newProgram(t)
	tn := p.tenant("Canary", "founder@example.com")
	c := &canaries{t: t, secrets: map[string]string{"the password": tn.Password}}
	hook := c.key("the signing secret")
	github := c.plant("the secret of github", "%s")
	r := receive(t, hook)
	p.start()
	tn.login()
	c.secrets["the token"] = tn.Token
	call := func(status int, method, path string, body any, headers ...string) *answer {
		t.Helper()
		a := tn.do(method, path, body, headers...)
		c.add("the answer to "+a.request, a.body)
		for name, values := range a.header {
			c.add("the header "+name+" of the answer to "+a.request, []byte(strings.Join(values, ",")))
		}
		if status == 0 {
			return a
		}
		return a.want(status)
	}
	call(201, "POST", tn.at("/integrations/webhook"), map[string]any{"url": r.url, "events": []string{"memory.*", "integration.*", "timeline.*"}, "signingSecret": hook})
	call(201, "POST", tn.at("/integrations/github"), map[string]any{"repository": "octo/app", "signingSecret": github})
	canaryMistakes(tn, c, call)
	canaryDeliveries(tn, hook, github, c, call)
	call(204, "PUT", tn.at("/integrations/github/credentials"), map[string]any{"credentials": map[string]string{"token": c.plant("the credential", "ghp_%s")}})
	call(200, "POST", tn.at("/integrations/webhook/secret"), map[string]string{"signingSecret": c.key("the next signing secret")})
	eventually(t, "the events arrive", func() bool { return len(r.deliveries("memory.created")) > 0 })
	canaryReads(tn, call)
	p.kill() // what is on disk is what a power cut leaves
	for _, d := range r.deliveries() {
		c.add("the event "+d.Type, d.body)
		for name, values := range d.header {
			c.add("the header "+name+" of the event "+d.Type, []byte(strings.Join(values, ",")))
		}
	}
	c.add("the log", []byte(p.output.String()))
	c.files(p.data)
	c.control("Printer on fire")
	c.check()
}

// caller sends a request, keeps its answer, and ends the test if the status differs; 0 is any status.
type caller func(status int, method, path string, body any, headers ...string) *answer

// canaryMistakes puts secrets where they are refused.
func canaryMistakes(tn *tenant, c *canaries, call caller) {
	wrong := c.plant("a wrong password", "%s")
	call(401, "POST", "/auth/login", map[string]string{"email": tn.Email, "password": wrong})
	call(400, "POST", "/auth/login", []byte(`{"email":"`+tn.Email+`","password":"`+wrong+`"`))
	call(422, "POST", "/auth/login", map[string]any{"email": tn.Email, "password": []string{wrong}})
	call(422, "POST", tn.at("/integrations/webhook"), map[string]any{"url": "https://example.com/", "events": []string{"memory.*"}, "signingSecret": c.plant("a malformed secret", "whsec_%s!")})
	call(422, "PUT", tn.at("/integrations/github/credentials"), map[string]any{"credentials": map[string]string{"1": c.plant("a credential of a bad name", "%s")}})
	call(401, "GET", tn.at("/integrations"), nil, "Authorization", "Bearer "+c.plant("a wrong token", "%s"))
}

// canaryDeliveries receives deliveries in the sandbox, whose inbox shows their headers, and outside of it.
func canaryDeliveries(tn *tenant, hook, github string, c *canaries, call caller) {
	t := c.t
	t.Helper()
	issue := []byte(`{"action":"opened","repository":{"full_name":"octo/app"},"issue":{"number":7,"title":"Bug"}}`)
	mac := hmac.New(sha256.New, []byte(github))
	mac.Write(issue)
	headers := []string{
		"X-Hub-Signature-256", "sha256=" + c.sign(hex.EncodeToString(mac.Sum(nil))), "X-GitHub-Event", "issues", "X-GitHub-Delivery", "d-1",
		"X-Api-Key", c.plant("a key in a header", "%s"), "Cookie", c.plant("a cookie", "session=%s"),
	}
	call(202, "POST", "/inbound/"+tn.ID+"/github", issue, headers...)
	call(401, "POST", "/inbound/"+tn.ID+"/github", append(issue, ' '), headers...)
	for _, provider := range []string{"webhook", "github"} {
		var report struct{ Ports []string }
		call(200, "POST", tn.at("/integrations/"+provider+"/certification"), nil).json(&report)
		if !slices.Contains(report.Ports, "inbound.receive") {
			t.Fatalf("ports of %s = %v, want inbound.receive among them", provider, report.Ports)
		}
	}
	call(202, "POST", "/inbound/"+tn.ID+"/github", issue, headers...)
	body := []byte(`{"type":"memory.upsert","data":{"externalId":"1","title":"Printer on fire"}}`)
	signer, err := standardwebhooks.NewSigner([]string{hook})
	errtest.Must(t, err)
	signed := []string{}
	for name, values := range signer.Headers("m-1", body, time.Now()) {
		signed = append(signed, name, values[0])
	}
	call(202, "POST", "/inbound/"+tn.ID+"/webhook", body, signed...)
}

// sign notes a signature, which is as good as a secret until its delivery is a repeat.
func (c *canaries) sign(signature string) string {
	c.secrets["a signature"] = signature
	return signature
}

// canaryReads asks for everything that the company can read.
func canaryReads(tn *tenant, call caller) {
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	call(200, "GET", "/openapi.json", nil).json(&document)
	known := strings.NewReplacer("{companyId}", tn.ID, "{provider}", "github")
	read := 0
	for path, operations := range document.Paths {
		to := known.Replace(path)
		if _, ok := operations["get"]; ok && !strings.Contains(to, "{") {
			call(0, http.MethodGet, to, nil)
			read++
		}
	}
	if read < 20 {
		tn.t.Errorf("read %d resources, want at least 20", read)
	}
	var inbox struct{ Items []struct{ ID string } }
	call(200, "GET", tn.at("/integrations/github/inbox"), nil).json(&inbox)
	for _, one := range inbox.Items {
		call(200, "GET", tn.at("/integrations/github/inbox/"+one.ID), nil)
	}
	var log struct{ Items []struct{ DeliveryID string } }
	call(200, "GET", tn.at("/integrations/webhook/deliveries"), nil).json(&log)
	for _, one := range log.Items {
		call(200, "GET", tn.at("/integrations/webhook/deliveries/"+one.DeliveryID), nil)
	}
}
