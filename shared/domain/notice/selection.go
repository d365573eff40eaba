package notice

import (
	"time"

	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Unselected returns the message about a delivery that is held because its endpoint's filter or transformation failed, and what the
// message is about. People hear of it once a day.
func Unselected(c store.Change) (told []queue.Message, about string, err error) {
	e, err := endpointOf(c)
	if err != nil {
		return nil, "", err
	}
	m := SelectionFailed(e.Endpoint, c.At).of(e.Incarnation)
	told, err = messages(time.Time{}, Job{Company: c.Company, Matter: &m})
	return told, m.About, err
}

// SelectionFailed returns the matter of an endpoint whose filter or transformation failed on an event.
func SelectionFailed(provider string, at time.Time) Matter {
	m := alert(provider, "selection-failed", at, provider+": the filter or the transformation fails",
		"An event is held, because the filter or the transformation of the endpoint failed on it. Others may be too. The page of the integration says why. Correct the expression there, then recover what is held.")
	m.About = "selection:" + provider // it tells nothing of the endpoint's own state
	return m
}
