package connector

import (
	"fmt"
	"strconv"
	"time"

	"orgops/shared/base/text"
)

// told is what tells two items with the same id apart.
type told struct {
	title, body, url string
	changed          *time.Time
}

// again reports whether o is the same item as t, perhaps at another time: some feeds list an entry once more when it has changed.
func (t told) again(o told) bool {
	return t.title == o.title && t.body == o.body && t.url == o.url ||
		t.changed != nil && o.changed != nil && !t.changed.Equal(*o.changed)
}

// warnOfSameID warns of different items with the same id. They are one memory or goal, so that all but one of them are lost, and no
// other sign of it is seen.
func (p *FetchedPage) warnOfSameID() {
	count, example, first := 0, "", map[string]told{}
	look := func(kind, id string, item told) {
		other, found := first[kind+id]
		switch {
		case !found:
			first[kind+id] = item
		case id != "" && !other.again(item):
			count, example = count+1, id
		}
	}
	for _, m := range p.Memories {
		look("memory ", m.ExternalID, told{m.Title, m.Body, m.URL, m.UpdatedAt})
	}
	for _, g := range p.Goals {
		look("goal ", g.ExternalID, told{g.Title, g.Target, g.URL, g.UpdatedAt})
	}
	if count > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("items of the page that have the id of another item, such as %s: %d; only one item of each id is kept, so check where the ids come from",
			strconv.Quote(text.Truncate(example, maxQuoted)), count))
	}
}
