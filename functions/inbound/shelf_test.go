package inbound_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/scheme"
	"orgops/shared/provider/shelf"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

const (
	typed = "a secret as the provider shows it"
	whsec = secret
)

// secretOf returns a secret in the form of a kind's provider.
func secretOf(kind string) string {
	if kind == "svix" {
		return whsec
	}
	return typed
}

// sendAs posts a body to an integration, with the headers of the provider's sample, signed under a configuration.
func (s *service) sendAs(provider, config, signedWith, body string, headers ...string) *webtest.Response {
	s.t.Helper()
	c, _ := s.services.Connectors.Lookup(provider)
	conn := c.(connector.Inbound)
	path := "/inbound/" + s.A.ID + "/" + provider
	r := scheme.Request{Method: http.MethodPost, URLs: []string{base + path}, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
	sample, _ := conn.SampleArrival(json.RawMessage(config))
	var pairs []string
	for _, header := range []http.Header{sample, conn.Sign(json.RawMessage(config), signedWith, "msg_1", r, s.clock.Now())} {
		for name, values := range header {
			pairs = append(pairs, name, values[0])
		}
	}
	return s.post(path, body, append(pairs, headers...)...)
}

func (s *service) certify(provider string) {
	s.t.Helper()
	var report struct {
		Passed bool
		Checks json.RawMessage
	}
	if s.integrations("POST", "/"+provider+"/certification", nil).Want(200).JSON(&report); !report.Passed {
		s.t.Fatalf("%s was not certified, want it certified: %s", provider, report.Checks)
	}
}

// TestShelf certifies each provider that is described by data, and takes what it signs and nothing else.
func TestShelf(t *testing.T) {
	t.Parallel()
	all := setup(t)
	kinds := slices.DeleteFunc(shelf.All(nil, nil), func(c connector.Connector) bool {
		_, receives := c.(connector.Inbound)
		return !receives
	})
	if len(kinds) < 7 {
		t.Fatalf("%d kinds, want at least 7", len(kinds))
	}
	for _, kind := range kinds {
		t.Run(kind.Kind(), func(t *testing.T) {
			s, name, secret := all.in(t), kind.Kind(), secretOf(kind.Kind())
			_, sample := kind.(connector.Inbound).SampleArrival(nil)
			s.configure(name, map[string]any{"signingSecret": secret})
			s.certify(name)
			for what, refused := range map[string]*webtest.Response{
				"another secret": s.sendAs(name, "", secret[:len(secret)-1]+"A", string(sample)),
				"no signature":   s.post("/inbound/"+s.A.ID+"/"+name, string(sample)),
			} {
				if refused.Status != 401 {
					t.Errorf("%s: status %d, want 401", what, refused.Status)
				}
			}
			type result struct{ Verdict, Outcome string }
			var got struct{ Results []result }
			s.sendAs(name, "", secret, string(sample)).Want(202).JSON(&got)
			if diff := cmp.Diff([]result{{"permitted", "created"}}, got.Results); diff != "" {
				t.Errorf("results differ (-want +got):\n%s", diff)
			}
			s.sendAs(name, "", secret, string(sample)).Want(200) // a repeat
		})
	}
}

// TestShelf_Large takes the largest push that GitLab documents, and no larger one. GitLab disables a webhook that is refused again and again.
func TestShelf_Large(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("gitlab", map[string]any{"signingSecret": typed})
	s.certify("gitlab")
	push := func(bytes int) string {
		return `{"object_kind":"push","project":{"path_with_namespace":"octo/app"},"message":"` + strings.Repeat("x", bytes) + `"}`
	}
	s.sendAs("gitlab", "", typed, push(24<<20)).Want(202)
	if refused := s.sendAs("gitlab", "", typed, push(25<<20)).Want(413); !strings.Contains(string(refused.Body), "25 MiB") {
		t.Errorf("answer %s, want GitLab's limit in it", refused.Body)
	}
	s.configure("stripe", map[string]any{"signingSecret": typed})
	s.certify("stripe")
	s.sendAs("stripe", "", typed, push(1<<20)).Want(413)
}

// TestShelf_HMAC takes what a sender signs by a known scheme, and by a scheme that the company describes.
func TestShelf_HMAC(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for name, signature := range map[string]string{
		"a known scheme": `{"scheme":"zendesk"}`, "the address is signed": `{"scheme":"hubspot"}`, "a form": `{"scheme":"paddle"}`,
		"described":  `{"signature":{"header":"X-Signature","algorithm":"hmac-sha512","encoding":"base64","field":"sig","separator":";","signed":"{method} {url} {time} {body}","time":{"field":"at","unit":"ms","tolerance":60}}}`,
		"with an id": `{"signature":{"header":"X-Signature","algorithm":"hmac-sha256","encoding":"hex","prefix":"v9=","signed":"{id}/{body}","id":"X-Id"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			var config map[string]any
			errtest.Must(t, json.Unmarshal([]byte(signature), &config))
			config["signingSecret"] = typed
			s.configure("hmac", config)
			s.certify("hmac")
			s.sendAs("hmac", signature, typed, upsert).Want(202)
			s.sendAs("hmac", signature, "another secret", upsert).Want(401)
			s.sendAs("hmac", `{"scheme":"stripe"}`, typed, upsert).Want(401)
			s.integrations("DELETE", "/hmac", nil).Want(204)
		})
	}
}

// TestShelf_HMAC_mailgun takes a signature that stands in the body, once: it covers a token and no other part of the body.
func TestShelf_HMAC_mailgun(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("hmac", map[string]any{"scheme": "mailgun", "signingSecret": typed})
	s.certify("hmac")
	send := func(token, id string) *webtest.Response {
		at := strconv.FormatInt(s.clock.Now().Unix(), 10)
		mac := hmac.New(sha256.New, []byte(typed))
		mac.Write([]byte(at + "a0b1"))
		body := fmt.Sprintf(`{"signature":{"timestamp":%q,"token":%q,"signature":"%x"},"type":"memory.upsert","data":{"externalId":%q,"kind":"mail","title":"Opened"}}`, at, token, mac.Sum(nil), id)
		return s.post("/inbound/"+s.A.ID+"/hmac", body, "Content-Type", "application/json")
	}
	send("a0b2", "1").Want(401)
	send("a0b1", "1").Want(202)
	send("a0b1", "2").Want(200) // a repeat, whose body does not count
}

// TestShelf_HMAC_Unverified gives every arrival that does not verify the same answer, by each known scheme, as if the integration did not exist.
func TestShelf_HMAC_Unverified(t *testing.T) {
	t.Parallel()
	all := setup(t)
	want := instance.ReplaceAllString(string(all.post("/inbound/"+all.A.ID+"/hmac-unknown", upsert).Body), "")
	for _, name := range scheme.Names() {
		t.Run(name, func(t *testing.T) {
			s, _ := scheme.Named(name)
			signedWith := map[string]string{"whsec": whsec}[s.Key]
			if signedWith == "" {
				signedWith = typed
			}
			if !s.Signs() {
				signedWith = strings.Repeat("0a", 32) // a public key
			}
			in := all.in(t)
			in.configure("hmac-"+name, map[string]any{"scheme": name, "signingSecret": signedWith})
			path := "/inbound/" + in.A.ID + "/hmac-" + name
			send := func(secret string, at time.Time, body string, change func(r *scheme.Request)) *webtest.Response {
				r := scheme.Request{Method: http.MethodPost, URLs: []string{base + path}, Header: http.Header{"Content-Type": {"application/json"}}}
				if r.Body = []byte(strings.Replace(body, "{", fmt.Sprintf(`{"webhookTimestamp":%d,`, at.UnixMilli()), 1)); strings.Contains(s.Signed, "{form}") {
					r.Body = []byte("Body=" + url.QueryEscape(string(r.Body)))
					r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				}
				maps.Copy(r.Header, s.Sign(secret, "msg_1", r, at))
				if change != nil {
					change(&r)
				}
				var pairs []string
				for header, values := range r.Header {
					pairs = append(pairs, header, values[0])
				}
				return in.post(path, string(r.Body), pairs...)
			}
			now := in.clock.Now()
			refused := map[string]*webtest.Response{
				"another secret":            send(strings.ToUpper(signedWith), now, upsert, nil),
				"another body":              send(signedWith, now, upsert, func(r *scheme.Request) { r.Body = append(r.Body, ' ') }),
				"too late":                  send(signedWith, now.Add(-time.Hour), upsert, nil),
				"too early":                 send(signedWith, now.Add(time.Hour), upsert, nil),
				"no JSON":                   send(signedWith, now, `{"type":`, func(r *scheme.Request) { r.Header.Del(s.Header) }),
				"a greeting that is bare":   in.post(path, `{"type":"url_verification","challenge":"x"}`),
				"a greeting, badly signed":  send(typed+"2", now, `{"type":"url_verification","challenge":"x"}`, nil),
				"a greeting that is a ping": in.post(path, `{"type":0}`),
			}
			for _, header := range s.Headers() {
				refused["without "+header] = send(signedWith, now, upsert, func(r *scheme.Request) { r.Header.Del(header) })
				refused["with another "+header] = send(signedWith, now, upsert, func(r *scheme.Request) { r.Header.Set(header, "x") })
				refused["with a long "+header] = send(signedWith, now, upsert, func(r *scheme.Request) { r.Header.Set(header, strings.Repeat("0", 64)) })
			}
			if !s.Covers() {
				delete(refused, "another body")
			}
			if s.Time == nil {
				delete(refused, "too late")
				delete(refused, "too early")
			}
			for what, answer := range refused {
				if answer.Status != http.StatusUnauthorized {
					t.Errorf("%s: status %d, want 401", what, answer.Status)
				}
				if got := instance.ReplaceAllString(string(answer.Body), ""); got != want {
					t.Errorf("%s: answer %s, want %s", what, got, want)
				}
			}
			taken := 202
			if strings.Contains(s.Signed, "{form}") {
				taken = 422 // the default mapping takes no form
			}
			if s.Signs() {
				send(signedWith, now, upsert, nil).Want(taken)
			}
		})
	}
}

// mapSMS makes memories of the messages that Twilio sends.
func (s *service) mapSMS() {
	s.t.Helper()
	s.integrations("PUT", "/hmac/mapping", map[string]any{"rules": []any{map[string]any{
		"when": `.payload.SmsStatus == "received"`, "action": "memory.upsert",
		"with": map[string]string{"externalId": ".payload.MessageSid", "kind": `"message"`, "title": ".payload.Body"},
	}}}).Want(200)
}

// TestShelf_Form takes a form, such as all that Twilio sends, as an object with the text of each field.
func TestShelf_Form(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const config, form = `{"scheme":"twilio"}`, "application/x-www-form-urlencoded"
	s.configure("hmac", map[string]any{"scheme": "twilio", "signingSecret": typed})
	s.mapSMS()
	send := func(body string) *webtest.Response {
		r := scheme.Request{
			Method: http.MethodPost, URLs: []string{base + "/inbound/" + s.A.ID + "/hmac"}, Header: http.Header{"Content-Type": {form}}, Body: []byte(body),
		}
		conn, _ := s.services.Connectors.Lookup("hmac")
		signed := conn.(connector.Inbound).Sign(json.RawMessage(config), typed, "", r, s.clock.Now())
		return s.post("/inbound/"+s.A.ID+"/hmac", body, "Content-Type", form, "X-Twilio-Signature", signed.Get("X-Twilio-Signature"))
	}
	s.wantReceipt(s.sent(send("MessageSid=SM1&Body=Gr%C3%BC%C3%9Fe+%26+more&SmsStatus=received"), 202), "sandboxed", "memory.upsert permitted created")
	send("MessageSid=SM1&Body=%FF&SmsStatus=received").Want(400)
	send("MessageSid=SM1&Body=%zz").Want(401) // the signature covers nothing of it
}

// TestShelf_Sparse takes items that lack what the provider's documents do not promise, or have it in another form.
func TestShelf_Sparse(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, kind := range []string{"stripe", "sentry", "pagerduty"} {
		s.configure(kind, map[string]any{"signingSecret": typed})
		s.certify(kind)
	}
	for _, tt := range []struct{ kind, body, id, title string }{
		{"stripe", `{"object":"event","type":"customer.created","created":1771840800,"data":{"object":{"id":"cus_1","object":"customer","name":"","email":" "}}}`, "cus_1", "cus_1"},
		{"stripe", `{"object":"event","type":"customer.created","created":1771840800,"data":{"object":{"id":"cus_2","object":"customer","name":"","email":"a@example.com"}}}`, "cus_2", "a@example.com"},
		{"sentry", `{"action":"created","data":{"issue":{"id":1170820242,"title":"Broken","status":"resolved"}}}`, "1170820242", "Broken (resolved)"},
		{"pagerduty", `{"event":{"data":{"type":"incident","id":"P1","title":"Down","status":"triggered"}}}`, "P1", "Down (triggered)"},
	} {
		s.sent(s.sendAs(tt.kind, "", typed, tt.body), 202)
		var got []string
		for _, m := range items[memory.Memory](s, memory.Prefix) {
			if m.ExternalID == tt.id {
				got = append(got, m.Title)
			}
		}
		if diff := cmp.Diff([]string{tt.title}, got); diff != "" {
			t.Errorf("%s: titles of %s differ (-want +got):\n%s", tt.kind, tt.id, diff)
		}
	}
}

// TestShelf_Described refuses a description that proves nothing, or contradicts itself.
func TestShelf_Described(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for name, tt := range map[string]struct{ config, pointer string }{
		"neither":             {`{}`, "/scheme"},
		"both":                {`{"scheme":"stripe","signature":{"header":"X-S","algorithm":"hmac-sha256","encoding":"hex","signed":"{body}"}}`, "/scheme"},
		"unknown":             {`{"scheme":"mailchimp"}`, "/scheme"},
		"without the body":    {`{"signature":{"header":"X-S","algorithm":"hmac-sha256","encoding":"hex","signed":"{time}","time":{"header":"X-T","unit":"s","tolerance":300}}}`, "/signature/signed"},
		"an unknown place":    {`{"signature":{"header":"X-S","algorithm":"hmac-sha256","encoding":"hex","signed":"{body}{secret}"}}`, "/signature/signed"},
		"a time nowhere":      {`{"signature":{"header":"X-S","algorithm":"hmac-sha256","encoding":"hex","signed":"{time}{body}"}}`, "/signature/signed"},
		"a time not signed":   {`{"signature":{"header":"X-S","algorithm":"hmac-sha256","encoding":"hex","signed":"{body}","time":{"header":"X-T","unit":"s","tolerance":300}}}`, "/signature/signed"},
		"a time in two ways":  {`{"signature":{"header":"X-S","field":"s","algorithm":"hmac-sha256","encoding":"hex","signed":"{time}{body}","time":{"header":"X-T","field":"t","unit":"s","tolerance":300}}}`, "/signature/time"},
		"a field of no list":  {`{"signature":{"header":"X-S","algorithm":"hmac-sha256","encoding":"hex","signed":"{time}{body}","time":{"field":"t","unit":"s","tolerance":300}}}`, "/signature/field"},
		"a long tolerance":    {`{"signature":{"header":"X-S","algorithm":"hmac-sha256","encoding":"hex","signed":"{time}{body}","time":{"header":"X-T","unit":"s","tolerance":3600}}}`, "/signature/time/tolerance"},
		"a weak algorithm":    {`{"signature":{"header":"X-S","algorithm":"hmac-md5","encoding":"hex","signed":"{body}"}}`, "/signature/algorithm"},
		"a token in disguise": {`{"signature":{"header":"X-S","algorithm":"token","encoding":"hex","signed":"{body}"}}`, "/signature/algorithm"},
	} {
		answer := s.integrations("POST", "/hmac", json.RawMessage(tt.config)).Want(422)
		if !strings.Contains(string(answer.Body), `"`+tt.pointer+`"`) {
			t.Errorf("%s: %s; want a problem at %s", name, answer.Body, tt.pointer)
		}
	}
}

// TestShelf_Handshake answers a provider that tries the address, in the sandbox too, and only if the provider has signed.
func TestShelf_Handshake(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("slack", map[string]any{"signingSecret": typed})
	const try = `{"token":"old","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}`
	var got struct{ Challenge string }
	s.sendAs("slack", "", typed, try).Want(200).JSON(&got)
	if want := "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"; got.Challenge != want {
		t.Errorf("challenge %q, want %q", got.Challenge, want)
	}
	if refused := s.sendAs("slack", "", "another secret", try).Want(401); strings.Contains(string(refused.Body), "3eZ") {
		t.Errorf("the answer %s repeats what no provider has signed", refused.Body)
	}
	s.configure("hmac", map[string]any{"scheme": "discord", "signingSecret": "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"})
	s.certify("hmac") // the company has the public key, and cannot sign
	s.post("/inbound/"+s.A.ID+"/hmac", `{"type":0}`, "X-Signature-Ed25519", strings.Repeat("0", 128), "X-Signature-Timestamp", "1771840800").Want(401)
}

// TestShelf_Former takes webhooks whose signature covers the address, at the domain and at the generated address of the time before it: the
// provider's settings may have either. It takes none that was signed for another address.
func TestShelf_Former(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for name, form := range map[string]bool{"hubspot": false, "twilio": true} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			config := `{"scheme":"` + name + `"}`
			media, body := "application/json", upsert
			if form {
				media, body = "application/x-www-form-urlencoded", "MessageSid=SM1&Body=Hello&SmsStatus=received"
			}
			s.configure("hmac", map[string]any{"scheme": name, "signingSecret": typed})
			if form {
				s.mapSMS()
			}
			defer func() { s.integrations("DELETE", "/hmac", nil).Want(204) }()
			path := "/inbound/" + s.A.ID + "/hmac"
			conn, _ := s.services.Connectors.Lookup("hmac")
			for address, want := range map[string]int{base: 202, formerBase: 202, "https://other.example.com": 401} {
				r := scheme.Request{Method: http.MethodPost, URLs: []string{address + path}, Header: http.Header{"Content-Type": {media}}, Body: []byte(body)}
				pairs := []string{"Content-Type", media}
				for header, values := range conn.(connector.Inbound).Sign(json.RawMessage(config), typed, "msg_"+address, r, s.clock.Now()) {
					pairs = append(pairs, header, values[0])
				}
				got := s.post(path, body, pairs...).Status
				if got == http.StatusOK {
					got = http.StatusAccepted // a repeat, because Twilio's requests have no id of their own
				}
				if got != want {
					t.Errorf("signed for %s: status %d, want %d", address, got, want)
				}
			}
		})
	}
}
