// Package event maps committed changes to events and makes the payloads that subscribers receive.
//
// The service does not store events. An event follows from a change alone, including its id. A change that is processed
// twice gives the same event twice, so subscribers can drop the second one by its id.
package event

import (
	"encoding/json"
	"time"

	"orgops/shared/base/fastjson"
)

// Sample names the type of the event that a test or a certification sends. No change causes it, and no endpoint can subscribe
// to it.
const Sample = "orgops.sample"

// SampleData holds the data of a Sample.
type SampleData struct {
	Provider string `json:"provider" doc:"the integration whose endpoint is tested or certified"`
	Message  string `json:"message" doc:"says that nothing happened"`
}

// MaxPayload limits the payload of an event, in bytes, as Standard Webhooks recommends.
const MaxPayload = 20_000

// Event carries one event to a subscriber.
type Event struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	CompanyID string          `json:"companyId"`
	Data      json.RawMessage `json:"data"`

	// About names the endpoint whose trouble the event tells of. That endpoint does not get it.
	About string `json:"-"`
}

// Payload returns the event as it is sent. If the event is larger than MaxPayload, Payload leaves out the largest fields of
// the data and lists their names in data.omitted. Subscribers can get these fields from the API.
func (e Event) Payload() (json.RawMessage, error) {
	payload, err := fastjson.Marshal(e)
	if err != nil || len(payload) <= MaxPayload {
		return payload, err
	}
	if e.Data, err = slim(e.Data, len(payload)-MaxPayload); err != nil {
		return nil, err
	}
	return json.Marshal(e)
}

// slim removes the largest fields of an object until it is at least excess bytes shorter, and lists them in "omitted".
func slim(data json.RawMessage, excess int) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	omitted := []string{}
	const room = 256 // for the names of the omitted fields
	for excess += room; excess > 0 && len(fields) > 0; {
		largest := ""
		for name, value := range fields {
			if largest == "" || len(value) > len(fields[largest]) || len(value) == len(fields[largest]) && name < largest {
				largest = name
			}
		}
		excess -= len(fields[largest])
		delete(fields, largest)
		omitted = append(omitted, largest)
	}
	names, err := json.Marshal(omitted)
	if err != nil {
		return nil, err
	}
	fields["omitted"] = names
	return json.Marshal(fields)
}
