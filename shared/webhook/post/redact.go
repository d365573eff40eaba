package post

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// redacted stands for a secret header's value that an endpoint has sent back.
const redacted = "[redacted]"

// leastHidden is the length of a part of a value that is hidden too. A shorter one, such as a scheme, may be any word.
const leastHidden = 8

// hidden lists what must not be shown of secret headers, longest first: the values, their parts between spaces, such as the token after
// Bearer, and how JSON writes them, also within a text of JSON.
func hidden(headers map[string]string) []string {
	all := map[string]bool{}
	for _, value := range headers {
		all[value] = true
		for _, part := range strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ';' || r == '=' || r == ',' }) {
			if len(part) >= leastHidden {
				all[part] = true
			}
		}
	}
	for range 2 {
		for text := range maps.Clone(all) {
			all[inJSON(text, true)], all[inJSON(text, false)] = true, true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int { return len(b) - len(a) })
}

// inJSON returns a text as it stands in a JSON string, with the characters of HTML escaped or not.
func inJSON(text string, html bool) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(html)
	_ = encoder.Encode(text) // a string is always JSON
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// redact hides the secret headers' values in a text.
func (e *Target) redact(text string) string {
	for _, secret := range e.hidden {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}

// clean hides the secret headers' values in the beginning of an answer. more says that the answer goes on: then its last bytes may be
// the beginning of a value.
func (e *Target) clean(body []byte, more bool) []byte {
	shown := e.redact(string(body))
	if more {
		shown = shown[:max(len(shown)-e.excess(), 0)]
	}
	return []byte(shown)
}

// excess returns how many bytes of an answer are read beyond what is shown, so that no value is cut in two and not recognised.
func (e *Target) excess() int {
	if len(e.hidden) == 0 {
		return 0
	}
	return len(e.hidden[0]) - 1
}
