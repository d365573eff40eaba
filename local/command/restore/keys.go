package restore

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"orgops/shared/base/id"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/client"
	"orgops/shared/domain/company"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/export"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/sso"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/insight/projection"
)

// part reports whether a text is right as a part of the key of an item with a body.
type part func(text string, body map[string]json.RawMessage) bool

// form describes the keys of an entity's items: a prefix, and parts with # between them. A key without parts is the prefix alone.
type form struct {
	prefix string
	parts  []part
}

// members returns the parts that are members of the body, by their paths.
func members(paths ...string) (all []part) {
	for _, path := range paths {
		all = append(all, func(text string, body map[string]json.RawMessage) bool { return text == member(body, path) })
	}
	return all
}

// name is the part that names an integration.
func name(text string, _ map[string]json.RawMessage) bool { return id.Valid(text) }

func uuidText(text string, _ map[string]json.RawMessage) bool {
	return len(text) == 36 && uuid.Validate(text) == nil
}

// digest is a part that is a SHA-256.
func digest(text string, _ map[string]json.RawMessage) bool {
	sum, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && len(sum) == sha256.Size
}

// mark is a part that is the end of an incarnation: 12 hexadecimal digits.
func mark(text string, _ map[string]json.RawMessage) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == 6
}

// receipts returns the forms of the keys of receipts, of integrations with an incarnation or of release 0.1.0.
func receipts() (all []form) {
	sandbox := func(text string, _ map[string]json.RawMessage) bool { return text == "sandbox" }
	for _, owner := range [][]part{{name}, {name, mark}} {
		delivery := slices.Concat(owner, []part{digest})
		all = append(all, form{arrival.ReceiptsPrefix, delivery}, form{"REFUSED#", delivery}, form{arrival.ReceiptsPrefix, slices.Concat(delivery, []part{sandbox})})
	}
	return all
}

// forms returns the forms of the keys of each exported entity.
func forms() map[string][]form {
	return map[string][]form{
		approval.Entity:            {{approval.Prefix, members("id")}},
		audit.Entity:               {{audit.Prefix, members("id")}},
		client.Entity:              {{client.Prefix, members("id")}},
		company.Entity:             {{company.Key, nil}},
		delivery.Entity:            {{delivery.Prefix, members("head/id", "head/endpoint")}, {delivery.Prefix, members("eventId", "endpoint")}},
		recovery.Entity:            {{recovery.Prefix, members("id")}},
		executive.Entity:           {{executive.Prefix, members("id")}},
		executive.RecordEntity:     {{"EXECUTIVEACTION#", members("executive/id", "id")}},
		goal.Entity:                {{goal.Prefix, members("id")}},
		goal.ExplanationEntity:     {{goal.ExplanationPrefix, members("goalId")}},
		goal.HistoryEntity:         {{goal.HistoryPrefix, []part{uuidText}}},
		integration.Entity:         {{integration.Prefix, members("provider")}},
		integration.ManifestEntity: {{integration.ManifestPrefix, members("kind")}},
		integration.MappingEntity:  {{integration.MappingKey(""), []part{name}}},
		integration.ReportsEntity:  {{integration.ReportsKey(""), []part{name}}},
		notice.PreferencesEntity:   {{notice.PreferencesPrefix, []part{uuidText}}, {notice.PreferencesKey(notice.Everyone), nil}},
		memory.Entity:              {{memory.Prefix, members("id")}},
		policy.Entity:              {{policy.Prefix, members("id")}},
		policy.StoredEntity:        {{policy.StoredKey, nil}},
		projection.Entity:          {{projection.Key, nil}},
		arrival.ReceiptEntity:      receipts(),
		recommendation.Entity:      {{recommendation.Prefix, members("id")}},
		sso.Entity:                 {{sso.Key, nil}},
		syncrun.Entity:             {{syncrun.Prefix, members("id")}},
		timeline.Entity:            {{timeline.Prefix, members("id")}},
		user.Entity:                {{user.Prefix, members("id")}},
		"inbox":                    {{"INBOX#", slices.Concat([]part{name}, members("id"))}, {"INBOXES#", []part{name}}},
		"noted":                    {{"NOTED#", []part{name, uuidText}}},
	}
}

// checkKey refuses an item under a key that is of another item or of another entity.
func checkKey(l export.Line, forms []form, body map[string]json.RawMessage) error {
	for _, f := range forms {
		if f.holds(l.Key, body) {
			return nil
		}
	}
	return fmt.Errorf("the key %s is not of the %s in its body", l.Key, l.Entity)
}

func (f form) holds(key string, body map[string]json.RawMessage) bool {
	rest, ok := strings.CutPrefix(key, f.prefix)
	if !ok || len(f.parts) == 0 {
		return ok && rest == ""
	}
	texts := strings.Split(rest, "#")
	if len(texts) != len(f.parts) {
		return false
	}
	for n, is := range f.parts {
		if !is(texts[n], body) {
			return false
		}
	}
	return true
}

// member returns the text at a path of a body, or "".
func member(body map[string]json.RawMessage, path string) (text string) {
	first, rest, deeper := strings.Cut(path, "/")
	if deeper {
		var below map[string]json.RawMessage
		_ = json.Unmarshal(body[first], &below) // without it, no member is there
		return member(below, rest)
	}
	_ = json.Unmarshal(body[first], &text)
	return text
}
