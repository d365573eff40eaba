package notice

import (
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Turned returns the message about a change of a delivery whose attempt has begun a pause of its endpoint, or ended one.
func Turned(c store.Change, turned delivery.Turn) ([]queue.Message, error) {
	e, err := endpointOf(c)
	if err != nil {
		return nil, err
	}
	m := Paused(e.Endpoint, turned, c.At).of(e.Incarnation)
	return messages(time.Time{}, Job{Company: c.Company, Matter: &m})
}

// endpoint names one incarnation of an endpoint.
type endpoint struct {
	Endpoint    string `json:"endpoint"`
	Incarnation string `json:"incarnation"`
}

// endpointOf returns the endpoint of a changed delivery.
func endpointOf(c store.Change) (e endpoint, err error) {
	err = delivery.DecodeHead(c.New.Body, &e)
	return e, err
}

// Paused returns the matter of an endpoint whose attempts are paused, or go on.
func Paused(provider string, turned delivery.Turn, at time.Time) Matter {
	m := alert(provider, "endpoint-paused", at, provider+" does not take deliveries",
		"Five attempts in a row failed, so attempts are paused. They are made again by themselves; nothing is lost. After five days of failures the endpoint is disabled.")
	m.Turn = Begins
	if !turned.Paused {
		m = alert(provider, "endpoint-resumed", at, provider+" takes deliveries again", "An attempt has succeeded, so deliveries go on. Those that waited are sent now.")
		m.Turn = Ends
	}
	m.About = "pause:" + provider // a pause tells nothing of the endpoint being disabled
	m.Content.Facts = append(m.Content.Facts, Fact{Name: "Paused since", At: turned.Since})
	return m
}
