package httplist

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
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

// maxQuoted limits what a warning quotes of an item, in bytes.
const maxQuoted = 80

// unlisted says why a document is not the list and what to do, or returns "".
func (config Config) unlisted(document []byte) string {
	if !json.Valid(document) {
		return "that is not JSON, or it was cut off; check that the url is the API's, and the credentials"
	}
	if name := config.complaint(document); name != "" {
		return fmt.Sprintf("its member %q reports an error; check the url and the credentials", name)
	}
	if list := find(document, config.ItemsPath); len(list) == 0 || list[0] != '[' {
		return "the document has no list at itemsPath; check itemsPath, and the credentials"
	}
	return ""
}

// complaint returns the member by which a document reports an error, or "". Many APIs answer 200 to what they refuse, some of
// them with an empty list. A member that holds the list or the cursor means something else.
func (config Config) complaint(document []byte) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(document, &members) != nil {
		return ""
	}
	complaints := []struct {
		name string
		is   func(value string) bool
	}{{"error", isSet}, {"errors", isSet}, {"ok", isFalse}, {"success", isFalse}, {"status", isError}, {"code", isError}, {"statusCode", isError}}
	for _, c := range complaints {
		used := strings.HasPrefix(config.ItemsPath+"/", "/"+c.name+"/") || strings.HasPrefix(config.CursorPath+"/", "/"+c.name+"/")
		if value, found := members[c.name]; found && !used && c.is(string(value)) {
			return c.name
		}
	}
	return ""
}

func isSet(value string) bool {
	switch value {
	case "null", "false", `""`, "0", "[]", "{}":
		return false
	}
	return true
}

func isFalse(value string) bool { return value == "false" }

// isError reports whether a value is an HTTP status of an error, or a word for one.
func isError(value string) bool {
	if n, err := strconv.Atoi(strings.Trim(value, `"`)); err == nil {
		return n >= 400 && n < 600
	}
	switch strings.ToLower(value) {
	case `"error"`, `"fail"`, `"failed"`, `"failure"`:
		return true
	}
	return false
}

// items adds the list's objects to a page, one after the other, and returns their number.
func (config Config) items(document []byte, page *connector.FetchedPage) (count int, err error) {
	objects := json.NewDecoder(bytes.NewReader(find(document, config.ItemsPath)))
	if _, err := objects.Token(); err != nil {
		return 0, err
	}
	for objects.More() {
		var object json.RawMessage
		if err := objects.Decode(&object); err != nil {
			return 0, err
		}
		if count++; count > maxItems {
			return 0, fault.New(fault.Unavailable, "the page has more than 1,000 objects; ask for smaller pages in the url")
		}
		if refused := connector.NotUnicode(object); refused != "" {
			page.Refuse(fmt.Sprintf("object %d of the page", count), refused)
			continue
		}
		config.item(object, count, page)
	}
	return count, nil
}

// item adds the object with a number to a page. An object without an id is left out, because nothing tells it from others. It
// makes the page incomplete: the run cannot know which item it shows.
func (config Config) item(object json.RawMessage, number int, page *connector.FetchedPage) {
	at := func(path string) json.RawMessage {
		if path == "" {
			return nil
		}
		return find(object, path)
	}
	id, title, body := text(at(config.IDPath)), text(at(config.TitlePath)), text(at(config.BodyPath))
	if id == "" {
		page.Refuse(cmp.Or(title, fmt.Sprintf("object %d of the page", number)), "it has no text or number at idPath")
		return
	}
	title = cmp.Or(title, id)
	moment := func(name, path string) *time.Time {
		when := connector.WhenOf(at(path))
		page.WarnOfTime(name, id, when)
		return when.At
	}
	link, updated := text(at(config.LinkPath)), moment("updatedAtPath", config.UpdatedAtPath)
	if config.Target != toGoal {
		page.Memories = append(page.Memories, memory.Draft{ExternalID: id, Kind: ItemKind, Title: title, Body: body, URL: link, UpdatedAt: updated})
		return
	}
	d := goal.Draft{
		ExternalID: id, Title: cut.Truncate(title, maxTitle), Target: cut.Truncate(body, maxTarget), URL: link, State: goal.Open,
		DueAt: moment("dueAtPath", config.DueAtPath), UpdatedAt: updated,
	}
	d.Progress = progressOf(text(at(config.ProgressPath)), id, page)
	if d.Progress == 1 {
		d.State = goal.Closed
	}
	page.Goals = append(page.Goals, d)
}

// progressOf reads a goal's progress: a number, or a text of one, perhaps in percent. It warns of any other text.
func progressOf(said, id string, page *connector.FetchedPage) float64 {
	number, percent := strings.CutSuffix(said, "%")
	progress, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil && said != "" && len(page.Warnings) == 0:
		page.Warnings = append(page.Warnings, fmt.Sprintf("progressPath of %s is %s, which is no number, so it counts as 0; send a number from 0 to 1",
			strconv.Quote(cut.Truncate(id, maxQuoted)), strconv.Quote(cut.Truncate(said, maxQuoted))))
	case percent:
		return progress / 100
	}
	return progress
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
