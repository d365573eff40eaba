package mcp

import (
	"strings"
	"unicode"

	"orgops/shared/base/text"
)

// MaxAnswer limits the bytes of an answer to a tool's call. Structured content and its text count both.
const MaxAnswer = 20_000

// level says how much of a long answer is shown.
type level struct{ text, items int }

// levels lists the forms of an answer, the whole one first.
//
//nolint:gochecknoglobals // a constant
var levels = []level{{1 << 20, 1 << 20}, {2000, 100}, {500, 30}, {200, 10}, {80, 5}}

// shown returns an answer as data for a model: marked as not trusted, without characters without a picture, and shortened to a level.
// An action that waits for an approval is shown by what is needed to wait for it.
func (e *exchange) shown(body map[string]any, n int) map[string]any {
	if state, id := body["state"], body["approvalId"]; id != nil {
		if state == "pending" {
			return map[string]any{
				"status": state, "approvalId": id, "actionId": body["id"], "expiresAt": body["expiresAt"], "url": strings.Join(e.Bases[:min(1, len(e.Bases))], "") + "/console/#/operations/approvals?company=" + e.caller.Company,
			}
		}
	}
	s := showing{level: levels[n]}
	out := s.object(body)
	if out["trusted"] = false; s.cut {
		out["shortened"] = true
	}
	return out
}

// showing shows one answer.
type showing struct {
	level
	cut bool
}

func (s *showing) object(members map[string]any) map[string]any {
	out := make(map[string]any, len(members)+2)
	for name, v := range members {
		out[visible(name)] = s.value(v)
	}
	return out
}

func (s *showing) value(v any) any {
	switch v := v.(type) {
	case string:
		return s.shorten(visible(v))
	case []any:
		if len(v) > s.items {
			s.cut, v = true, v[:s.items]
		}
		out := make([]any, len(v))
		for n := range v {
			out[n] = s.value(v[n])
		}
		return out
	case map[string]any:
		return s.object(v)
	}
	return v
}

// shorten cuts a text between two characters.
func (s *showing) shorten(long string) string {
	if len(long) <= s.text {
		return long
	}
	s.cut = true
	return text.Truncate(long, s.text) + "…"
}

// visible returns a text without the characters that a person does not see and a model reads: controls, directions of writing, tags and
// selectors of variants.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Variation_Selector):
			return -1
		}
		return r
	}, text)
}
