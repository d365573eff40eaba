package acceptance_test

import "time"

// webhooks subscribes with a planted, a generated and rotated secrets, and fails the first event.
func (c *canaries) webhooks() []*receiver {
	c.t.Helper()
	hook := c.key("the webhook's signing secret")
	given, made := echoReceiver(c.t, hook), echoReceiver(c.t, hook)
	given.respond(func(received) int { return 500 })
	events := []string{"memory.*", "integration.*", "timeline.*"}
	hidden := object{"Authorization": "Bearer " + c.plant("the webhook's secret header")}
	c.call(201, "POST", c.at("/integrations/webhook"), object{"url": given.url, "events": events, "signingSecret": hook, "secretHeaders": hidden})
	for range 2 { // the second answer was kept for the key
		var created struct{ SigningSecret string }
		c.show(201, "POST", c.at("/integrations/webhook-made"), object{"url": made.url, "events": events}, "Idempotency-Key", "make").json(&created)
		made.accept(c.keep("the generated signing secret", created.SigningSecret))
	}
	for _, provider := range []string{"webhook", "webhook-made"} {
		if state := c.certification(provider); state != "certified" {
			c.t.Fatalf("%s has the state %s, want certified", provider, state)
		}
	}
	body := []byte(`{"type":"memory.upsert","data":{"externalId":"1","title":"Printer on fire"}}`)
	var signed []string
	for name, values := range sign(c.t, hook, "m-1", body) {
		signed = append(signed, name, values[0])
	}
	c.call(202, "POST", "/inbound/"+c.ID+"/webhook", body, signed...)
	c.call(401, "POST", "/inbound/"+c.ID+"/webhook", append(body, ' '), signed...)
	eventually(c.t, "a failed delivery is scheduled", func() bool { return len(c.attempts("webhook", "&state=scheduled")) > 0 })
	eventually(c.t, "the event arrives", func() bool { return len(made.deliveries("memory.created")) > 0 })
	given.respond(nil)

	next := c.key("the webhook's next signing secret")
	given.accept(next)
	c.call(200, "POST", c.at("/integrations/webhook/secret"), object{"signingSecret": next}, "Idempotency-Key", "rotate-webhook")
	for range 2 {
		var rotated struct{ SigningSecret string }
		c.show(200, "POST", c.at("/integrations/webhook-made/secret"), nil, "Idempotency-Key", "rotate-made").json(&rotated)
		made.accept(c.keep("the generated next signing secret", rotated.SigningSecret))
	}
	for _, provider := range []string{"webhook", "webhook-made"} {
		c.call(200, "POST", c.at("/integrations/"+provider+"/test"), nil)
	}
	c.call(204, "PUT", c.at("/integrations/webhook/credentials"), object{"credentials": object{"Authorization": c.plant("the webhook's credential")}})
	c.call(204, "PUT", c.at("/integrations/webhook/credentials"), object{"credentials": object{"Authorization": c.plant("the webhook's next credential")}, "expiresAt": time.Now().Add(time.Hour)})
	return []*receiver{given, made}
}
