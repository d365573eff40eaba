package webfeed

import (
	"encoding/json"
	"errors"
)

// jsonFeed and jsonItem hold what is read of a JSON Feed. Other fields have any type.
type (
	jsonFeed struct {
		Items []*jsonItem `json:"items"`
	}
	jsonItem struct {
		ID          jsonID `json:"id"`
		URL         string `json:"url"`
		Title       string `json:"title"`
		ContentHTML string `json:"content_html"`
		ContentText string `json:"content_text"`
		Summary     string `json:"summary"`
	}
)

// jsonID holds an id. The standard asks readers to take a number for an id too.
type jsonID string

// UnmarshalJSON implements json.Unmarshaler.
func (i *jsonID) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(i))
	}
	if string(raw) != "null" {
		*i = jsonID(raw)
	}
	return nil
}

var errNoItems = errors.New("the JSON object has no list of items")

func fromJSON(document []byte, first int) ([]entry, error) {
	if err := checkJSON(document); err != nil {
		return nil, err
	}
	var feed jsonFeed
	if err := json.Unmarshal(document, &feed); err != nil {
		return nil, err
	}
	if feed.Items == nil {
		return nil, errNoItems
	}
	if err := limit(len(feed.Items), "too many entries", maxEntries); err != nil {
		return nil, err
	}
	all := make([]entry, 0, min(first, len(feed.Items)))
	for _, i := range feed.Items[:min(first, len(feed.Items))] {
		if i == nil { // null in the list: an entry without an id, which intake refuses
			i = &jsonItem{}
		}
		all = append(all, entry{
			id: string(i.ID), title: text(i.Title), link: i.URL, content: text(firstOf(i.ContentHTML, i.ContentText)), summary: text(i.Summary),
		})
	}
	return all, nil
}

// checkJSON checks the depth and the number of a document's values, and the length of names. It reads the bytes that the
// decoder reads, which refuses what is not JSON before it stores anything.
func checkJSON(document []byte) error {
	depth, values, length := 0, 0, 0 // length: of the last string
	quoted, escaped := false, false
	for _, c := range document {
		switch {
		case quoted:
			quoted, escaped = escaped || c != '"', !escaped && c == '\\'
			length++
		case c == '"':
			quoted, length = true, 0
		case c == '{', c == '[':
			depth, values = depth+1, values+1
		case c == '}', c == ']':
			depth--
		case c == ',':
			values++
		case c == ':' && length > maxName:
			return &sizeError{"a name of too many bytes", maxName}
		}
		if depth > maxDepth {
			return &sizeError{"lists and objects nested too deep", maxDepth}
		}
		if values > maxValues {
			return &sizeError{"too many values", maxValues}
		}
	}
	return nil
}
