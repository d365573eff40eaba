package policyengine

import (
	"time"

	"github.com/cedar-policy/cedar-go"

	"orgops/shared/domain/policy"
)

// Ask shows a request in Cedar's terms, for its comparison with the schema.
func Ask(r policy.Request) (cedar.Request, cedar.EntityMap, error) {
	q, err := ask(r, "")
	if err != nil {
		return cedar.Request{}, nil, err
	}
	entities := cedar.EntityMap{}
	for _, e := range q.entities {
		entities[e.UID] = e
	}
	return q.request, entities, nil
}

// Decide decides with a set.
func Decide(set *Set, company string, r policy.Request, now time.Time) (policy.Decision, error) {
	return decide(set, company, r, now)
}
