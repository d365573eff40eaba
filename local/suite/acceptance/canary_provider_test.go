package acceptance_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"
)

type object = map[string]any

// signature returns the hexadecimal HMAC of a body, and notes it: it is as good as a secret until its arrival is a repeat.
func (c *canaries) signature(name, secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return c.keep(name, hex.EncodeToString(mac.Sum(nil)))
}

// github receives arrivals in the sandbox, whose inbox shows their headers, and outside of it.
func (c *canaries) github() {
	c.t.Helper()
	secret := c.plant("github's signing secret")
	c.call(201, "POST", c.at("/integrations/github"), object{"repository": "octo/app", "signingSecret": secret})
	issue := []byte(`{"action":"opened","repository":{"full_name":"octo/app"},"issue":{"number":7,"title":"Bug"}}`)
	headers := []string{
		"X-Hub-Signature-256", "sha256=" + c.signature("a signature of github", secret, issue), "X-GitHub-Event", "issues", "X-GitHub-Delivery", "d-1",
		"X-Api-Key", c.plant("a key in a header"), "Cookie", "session=" + c.plant("a cookie"),
	}
	c.call(202, "POST", "/inbound/"+c.ID+"/github", issue, headers...)
	c.call(401, "POST", "/inbound/"+c.ID+"/github", append(issue, ' '), headers...)
	var report struct{ Ports []string }
	c.call(200, "POST", c.at("/integrations/github/certification"), nil, "Idempotency-Key", "certify-github").json(&report)
	if !slices.Contains(report.Ports, "inbound.receive") {
		c.t.Fatalf("ports of github = %v, want inbound.receive among them", report.Ports)
	}
	c.call(202, "POST", "/inbound/"+c.ID+"/github", issue, headers...)
}

// linear receives arrivals, and keeps a key. Its API has one address, so the test fetches nothing.
func (c *canaries) linear() {
	c.t.Helper()
	secret := c.plant("linear's signing secret")
	c.call(201, "POST", c.at("/integrations/linear"), object{"team": "ENG", "signingSecret": secret})
	body := []byte(`{"action":"create","type":"Issue","data":{"id":"2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9","identifier":"ENG-1","title":"Bug"}}`)
	signature := c.signature("a signature of linear", secret, body)
	c.call(202, "POST", "/inbound/"+c.ID+"/linear", body, "Linear-Signature", signature)
	c.call(401, "POST", "/inbound/"+c.ID+"/linear", append(body, ' '), "Linear-Signature", signature)
	c.call(200, "POST", c.at("/integrations/linear/secret"), object{"signingSecret": c.plant("linear's next signing secret")}, "Idempotency-Key", "rotate-linear")
	c.call(204, "PUT", c.at("/integrations/linear/credentials"), object{"credentials": object{"apiKey": c.plant("linear's key")}})
}

// sources lets github and http fetch from a provider that sends the credentials back, in its list and in every kind of failure.
func (c *canaries) sources() {
	c.t.Helper()
	p := newEchoProvider(c.t)
	user, password := c.plant("http's user"), c.plant("http's password")
	basic := c.keep("the basic authentication", base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	github, bearer, header := c.plant("github's token"), c.plant("http's bearer token"), c.plant("http's header")
	list := func(with object) object {
		config := object{"url": p.url + "/list", "itemsPath": "/items", "idPath": "/id", "titlePath": "/title", "target": "memory"}
		maps.Copy(config, with)
		return config
	}
	for _, of := range []struct {
		provider            string
		config, credentials object
		right               credential
	}{
		{"github", object{"repository": "octo/app", "baseUrl": p.url}, object{"token": github}, credential{"Authorization", "Bearer " + github}},
		{"http", list(object{"auth": "bearer"}), object{"token": bearer}, credential{"Authorization", "Bearer " + bearer}},
		{"http", list(object{"auth": "basic"}), object{"username": user, "password": password}, credential{"Authorization", "Basic " + basic}},
		{"http", list(object{"auth": "header", "header": "X-Custom"}), object{"token": header}, credential{"X-Custom", header}},
	} {
		p.right.Store(of.right)
		c.call(0, "POST", c.at("/integrations/"+of.provider), of.config)
		c.call(204, "PUT", c.at("/integrations/"+of.provider+"/credentials"), object{"credentials": of.credentials})
		c.source(p, of.provider)
	}
}

// source fails certifications, whose reports say why, and then syncs, whose runs do. Between them both succeed.
func (c *canaries) source(p *echoProvider, provider string) {
	c.t.Helper()
	for _, way := range failures() {
		p.way.Store(way)
		if state := c.certification(provider); state != "sandbox" {
			c.t.Errorf("the certification of %s, answered %s, has the state %s, want sandbox", provider, way, state)
		}
	}
	p.way.Store(listed)
	if state := c.certification(provider); state != "certified" {
		c.t.Errorf("the certification of %s has the state %s, want certified", provider, state)
	}
	if r := c.sync(provider); r.State != "succeeded" {
		c.t.Errorf("the sync of %s has the state %s and the error %q, want succeeded", provider, r.State, r.Error)
	}
	for _, way := range failures() {
		p.way.Store(way)
		if r := c.sync(provider); r.Error == "" {
			c.t.Errorf("the sync of %s, answered %s, has no error in the state %s, want one", provider, way, r.State)
		}
	}
}

// certification certifies an integration, and returns its state.
func (c *canaries) certification(provider string) string {
	c.t.Helper()
	var report struct{ State string }
	c.call(200, "POST", c.at("/integrations/"+provider+"/certification"), nil).json(&report)
	return report.State
}

// syncRun holds how far a sync is.
type syncRun struct{ ID, State, Error string }

// sync syncs a provider until the run has ended or has an error, and cancels a run that would be tried again.
func (c *canaries) sync(provider string) syncRun {
	c.t.Helper()
	var r syncRun
	c.call(202, "POST", c.at("/memory/sync/"+provider), nil).json(&r)
	path := c.at("/memory/syncs/" + r.ID)
	eventually(c.t, "the sync of "+provider+" has ended or failed", func() bool {
		c.do("GET", path, nil).want(200).json(&r)
		return r.Error != "" || r.State == "succeeded"
	})
	c.call(200, "GET", path, nil)
	if r.State != "running" {
		return r
	}
	c.call(200, "POST", path+"/cancel", nil)
	eventually(c.t, "the sync of "+provider+" is cancelled", func() bool {
		var now syncRun
		c.do("GET", path, nil).want(200).json(&now)
		return now.State == "cancelled"
	})
	return r
}
