package httplist

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"

	cut "orgops/shared/base/text"
)

// Maximum lengths of a goal's texts, in bytes. Longer ones are cut.
const (
	maxTitle  = 1024
	maxTarget = 4096
)

// items adds the list's objects to a page, one after the other, and returns their number. An object without an id makes the
// page incomplete; intake refuses it.
func (config Config) items(document []byte, page *connector.FetchedPage) (count int, err error) {
	if !json.Valid(document) {
		return 0, fault.New(fault.Unavailable, "the document is not JSON, or it was cut off")
	}
	list := find(document, config.ItemsPath)
	objects := json.NewDecoder(bytes.NewReader(list))
	if token, err := objects.Token(); err != nil || token != json.Delim('[') {
		return 0, fault.New(fault.Unavailable, "the document has no list at itemsPath")
	}
	for objects.More() {
		var object json.RawMessage
		if err := objects.Decode(&object); err != nil {
			return 0, err
		}
		if count++; count > maxItems {
			return 0, fault.New(fault.Unavailable, "the page has more than 1,000 objects; ask for smaller pages in the url")
		}
		config.item(object, page)
	}
	return count, nil
}

func (config Config) item(object json.RawMessage, page *connector.FetchedPage) {
	at := func(path string) json.RawMessage {
		if path == "" {
			return nil
		}
		return find(object, path)
	}
	id, title, body := text(at(config.IDPath)), text(at(config.TitlePath)), text(at(config.BodyPath))
	page.Incomplete = page.Incomplete || id == ""
	link, updated := text(at(config.LinkPath)), moment(at(config.UpdatedAtPath))
	if config.Target != toGoal {
		page.Memories = append(page.Memories, memory.Draft{ExternalID: id, Kind: ItemKind, Title: title, Body: body, URL: link, UpdatedAt: updated})
		return
	}
	d := goal.Draft{
		ExternalID: id, Title: cut.Truncate(title, maxTitle), Target: cut.Truncate(body, maxTarget), URL: link, State: goal.Open,
		DueAt: moment(at(config.DueAtPath)), UpdatedAt: updated,
	}
	if progress, err := strconv.ParseFloat(string(at(config.ProgressPath)), 64); err == nil {
		d.Progress = progress
	}
	if d.Progress == 1 {
		d.State = goal.Closed
	}
	page.Goals = append(page.Goals, d)
}

// find returns the value that a JSON Pointer names, or nil. It reads the text only as far as it needs, without making values
// of what it passes. Of members with the same name it finds the first.
func find(text json.RawMessage, pointer string) json.RawMessage {
	for pointer != "" {
		token, rest, more := strings.Cut(pointer[1:], "/")
		if pointer = ""; more {
			pointer = "/" + rest
		}
		text = child(text, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
	}
	return text
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

// text returns a string's characters, a number's or a boolean's text, and "" for anything else.
func text(value json.RawMessage) string {
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

// moment returns a time in UTC, or nil; see connector.Moment.
func moment(value json.RawMessage) *time.Time { return connector.Moment(text(value)) }
