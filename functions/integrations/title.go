package integrations

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"orgops/shared/base/fault"
)

// titleField names the member of a configuration request that people know the integration by. It is no part of a connector's configuration.
const titleField = "title"

// maxTitle limits a title, in characters.
const maxTitle = 80

// takeTitle splits a configuration request into the rest and the title, which is nil if the request has none. It leaves a request that is not
// an object to the check of the connector's schema.
func takeTitle(request json.RawMessage) (rest json.RawMessage, title *string, err error) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(request, &members) // a request that is not an object has no members
	given, ok := members[titleField]
	if !ok {
		return request, nil, nil
	}
	refused := fault.Refuse([]fault.FieldError{{Pointer: "/title", Detail: fmt.Sprintf("must be a text of at most %d characters without control characters", maxTitle)}})
	if json.Unmarshal(given, &title) != nil || title == nil {
		return nil, nil, refused
	}
	*title = strings.TrimSpace(*title)
	if utf8.RuneCountInString(*title) > maxTitle || strings.ContainsFunc(*title, unicode.IsControl) {
		return nil, nil, refused
	}
	delete(members, titleField)
	rest, err = json.Marshal(members)
	return rest, title, err
}
