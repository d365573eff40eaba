package policyengine

import (
	"github.com/cedar-policy/cedar-go"

	"orgops/shared/domain/policy"
)

// Ask shows a request in Cedar's terms, for its comparison with the schema.
func Ask(r policy.Request) (cedar.Request, cedar.EntityMap, error) {
	q, err := new(frames).ask(r, "")
	if err != nil {
		return cedar.Request{}, nil, err
	}
	entities := cedar.EntityMap{}
	for _, e := range q.entities {
		entities[e.UID] = e
	}
	return q.request, entities, nil
}

// Held returns the bytes that the engine's cache counts.
func (e *Engine) Held() int {
	e.sets.mu.Lock()
	defer e.sets.mu.Unlock()
	return e.sets.bytes
}
