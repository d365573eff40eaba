package functions

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"orgops/functions/integrations"
	"orgops/shared/domain/event"
	"orgops/shared/web"
)

// webhooksTag tags the events. No operation has this tag: openapi-generator makes a class of each tag, first of the operations and
// then of the webhooks, and the second class would overwrite the first.
const webhooksTag = "webhooks"

// documentEvents adds the events that subscribers receive to the document, as OpenAPI 3.1's webhooks.
func documentEvents(doc *huma.OpenAPI) {
	doc.Tags = append(doc.Tags, &huma.Tag{Name: webhooksTag, Description: "The events that webhook endpoints receive."})
	schemas := doc.Components.Schemas
	doc.Webhooks = map[string]*huma.PathItem{}
	names := map[string][]string{} // of the events, by subject
	for _, k := range event.Kinds() {
		names[k.Subject] = append(names[k.Subject], k.Name)
		shown := huma.SchemaFromType(schemas, k.Shown)
		schemas.Map()[k.Subject+"EventData"] = integrations.EventData(shown)
		schemas.Map()[k.Subject+"Event"] = envelope(names[k.Subject], k.Subject)
		hook := delivery(k.Name, k.Subject+"Event")
		hook.Description = "Sent when " + k.About + ", to every webhook integration that subscribes to it, at least once. Verify the signature before you read the body."
		doc.Webhooks[k.Name] = &huma.PathItem{Post: hook}
	}
	documentSample(doc)
}

// documentSample adds the event that a test and a certification send. Endpoints receive it without a subscription.
func documentSample(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas
	data := huma.SchemaFromType(schemas, reflect.TypeFor[event.SampleData]())
	data.AdditionalProperties = true
	schemas.Map()["SampleEventData"] = data
	schemas.Map()["SampleEvent"] = envelope([]string{event.Sample}, "Sample")
	hook := delivery(event.Sample, "SampleEvent")
	hook.Description = "Sent by the test and the certification of a webhook integration, with any subscription. It reports no change. " +
		"The certification also sends it with a wrong signature and with an old timestamp, and expects a 4xx. Verify the signature before you read the body."
	hook.Responses = map[string]*huma.Response{
		"204":     {Description: "Received. Any 2xx within 5 seconds counts"},
		"4XX":     {Description: "Refused, as a wrong signature or an old timestamp must be"},
		"default": {Description: "Not received: the test or the certification reports it, and nothing is retried"},
	}
	doc.Webhooks[event.Sample] = &huma.PathItem{Post: hook}
}

// envelope returns the schema of the events about a subject.
func envelope(names []string, subject string) *huma.Schema {
	return integrations.EventPayload(names, &huma.Schema{Ref: web.ComponentRef(subject + "EventData"), Description: "What the event is about"})
}

// delivery documents the request that a subscriber receives, as Standard Webhooks signs it.
func delivery(name, schema string) *huma.Operation {
	header := func(name, description, example string) *huma.Param {
		return &huma.Param{
			Name: name, In: "header", Required: true, Description: description, Example: example, Schema: &huma.Schema{Type: huma.TypeString},
		}
	}
	return &huma.Operation{
		OperationID: "on-" + name, Summary: name, Tags: []string{webhooksTag},
		Parameters: []*huma.Param{
			header("webhook-id", "The event's id, the same in every attempt", "0198c5f2-7c1e-7d33-9a1b-2f6f0c0a9b11"),
			header("webhook-timestamp", "When the attempt was signed, in Unix seconds", "1771840800"),
			header("webhook-signature", "One signature for each valid secret, separated by spaces: v1, a comma, and the base64 HMAC-SHA256 of id.timestamp.body",
				"v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="),
		},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/json": {Schema: &huma.Schema{Ref: web.ComponentRef(schema)}},
		}},
		Responses: map[string]*huma.Response{
			"204":     {Description: "Received. Any 2xx within 5 seconds (15 on retries) counts"},
			"410":     {Description: "The endpoint wants no more deliveries, so the service disables it"},
			"default": {Description: "Not received: the delivery is retried for three days"},
		},
		Security: []map[string][]string{},
	}
}
