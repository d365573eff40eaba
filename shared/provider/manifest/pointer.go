package manifest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// find returns the value that a JSON Pointer names, or nil. It reads the text only as far as it needs, without making values
// of what it passes. Of members with the same name it finds the first.
func find(text json.RawMessage, pointer string) json.RawMessage {
	for _, token := range Tokens(pointer) {
		text = child(text, token)
	}
	return text
}

// Tokens returns the names and indices of a JSON Pointer, without escapes.
func Tokens(pointer string) []string {
	tokens := strings.Split(pointer, "/")[1:] // what is before the first slash is empty
	for n, token := range tokens {
		tokens[n] = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	}
	return tokens
}

// child returns the member or the element of a value that a pointer's token names, or nil.
func child(value json.RawMessage, token string) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(value))
	opening, err := d.Token()
	if err != nil {
		return nil
	}
	index, numeric := -1, false
	if opening == json.Delim('[') {
		index, err = strconv.Atoi(token)
		if numeric = true; err != nil || token != strconv.Itoa(index) {
			return nil
		}
	} else if opening != json.Delim('{') {
		return nil
	}
	for n := 0; d.More(); n++ {
		found := n == index
		if !numeric {
			name, err := d.Token()
			if err != nil {
				return nil
			}
			found = name == token
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil
		}
		if found {
			return v
		}
	}
	return nil
}

// textOf returns a string's characters, a number's or a boolean's text, and "" for anything else.
func textOf(value json.RawMessage) string {
	var s string
	switch {
	case len(value) == 0 || value[0] == '{' || value[0] == '[' || string(value) == "null":
		return ""
	case value[0] != '"':
		return string(value)
	case json.Unmarshal(value, &s) != nil:
		return ""
	}
	return strings.TrimSpace(s)
}
