package restore

import (
	"encoding/json"
	"fmt"
	"strings"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/company"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/export"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/sso"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/insight/projection"
)

// form describes the keys of an entity's items: a prefix, and then the body's members, with # between them. Without members, the body
// does not tell the rest of the key.
type form struct {
	prefix  string
	members []string
}

// forms returns the forms of the keys of each exported entity.
func forms() map[string][]form {
	return map[string][]form{
		approval.Entity:           {{approval.Prefix, []string{"id"}}},
		audit.Entity:              {{audit.Prefix, []string{"id"}}},
		company.Entity:            {{company.Key, nil}},
		delivery.Entity:           {{delivery.Prefix, []string{"head/id", "head/endpoint"}}, {delivery.Prefix, []string{"eventId", "endpoint"}}},
		delivery.RecoveryEntity:   {{delivery.RecoveryPrefix, []string{"id"}}},
		executive.Entity:          {{executive.Prefix, []string{"id"}}},
		executive.RecordEntity:    {{"EXECUTIVEACTION#", []string{"executive/id", "id"}}},
		goal.Entity:               {{goal.Prefix, []string{"id"}}},
		goal.ExplanationEntity:    {{goal.ExplanationPrefix, []string{"goalId"}}},
		integration.Entity:        {{integration.Prefix, []string{"provider"}}},
		integration.MappingEntity: {{integration.MappingKey(""), nil}},
		integration.ReportsEntity: {{integration.ReportsKey(""), nil}},
		memory.Entity:             {{memory.Prefix, []string{"id"}}},
		policy.Entity:             {{policy.Prefix, []string{"id"}}},
		policy.StoredEntity:       {{policy.StoredKey, nil}},
		projection.Entity:         {{projection.Key, nil}},
		arrival.ReceiptEntity:     {{arrival.ReceiptsPrefix, nil}, {"REFUSED#", nil}},
		recommendation.Entity:     {{recommendation.Prefix, nil}},
		sso.Entity:                {{sso.Key, nil}},
		syncrun.Entity:            {{syncrun.Prefix, []string{"id"}}},
		timeline.Entity:           {{timeline.Prefix, []string{"id"}}},
		user.Entity:               {{user.Prefix, []string{"id"}}},
		"inbox":                   {{"INBOX#", nil}, {"INBOXES#", nil}},
		"noted":                   {{"NOTED#", nil}},
	}
}

// checkKey refuses an item under a key that is of another item or of another entity.
func checkKey(l export.Line) error {
	for _, f := range forms()[l.Entity] {
		if f.holds(l) {
			return nil
		}
	}
	return fmt.Errorf("the key %s is not of the %s in its body", l.Key, l.Entity)
}

func (f form) holds(l export.Line) bool {
	rest, ok := strings.CutPrefix(l.Key, f.prefix)
	single := !strings.HasSuffix(f.prefix, "#")
	if !ok || single != (rest == "") {
		return false
	}
	if f.members == nil {
		return true
	}
	named := make([]string, 0, len(f.members))
	for _, path := range f.members {
		named = append(named, member(l.Body, path))
	}
	return rest == strings.Join(named, "#")
}

// member returns the text at a path of a body, or "".
func member(body json.RawMessage, path string) (text string) {
	for name := range strings.SplitSeq(path, "/") {
		var members map[string]json.RawMessage
		if json.Unmarshal(body, &members) != nil {
			return ""
		}
		body = members[name]
	}
	if json.Unmarshal(body, &text) != nil {
		return ""
	}
	return text
}
