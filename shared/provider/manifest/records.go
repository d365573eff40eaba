package manifest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
)

// Maximum lengths of a goal's texts, in bytes. Longer ones are cut.
const (
	maxTitle  = 1024
	maxTarget = 4096
)

// maxQuoted limits what a warning quotes of an item, in bytes.
const maxQuoted = 80

// records says what a page held, before anything is left out: the end of a list follows from that.
type records struct {
	count int
	last  json.RawMessage
}

// page reads the records of a document, and finds the next page.
func (r *run) page(ctx context.Context, document []byte, header http.Header) (page connector.FetchedPage, err error) {
	if r.at.Pages == 0 && r.Parent == nil {
		r.resetTallies(r.stream)
	}
	var read records
	if !r.repeats(document) {
		if read, err = r.records(ctx, document, &page); err != nil {
			return page, err
		}
	}
	page.List, page.Shifting, page.NotBefore = r.Name, r.shifting(), r.exhausted(header)
	if page.Shifting && !r.at.Since.IsZero() {
		r.at.State.Since = r.last.Began
	}
	next, err := r.next(document, header, read)
	if err != nil {
		return page, err
	}
	kept := connector.Validators{}
	if r.at.Pages == 0 && r.Parent == nil && r.Incremental == nil && r.Request.Method != http.MethodPost && !r.fills(read.count) {
		kept = connector.ValidatorsOf(header)
	}
	return page, r.turn(&page, next, kept)
}

// turn sets where the run continues: at the next page, at the next stream, or in the next run.
func (r *run) turn(page *connector.FetchedPage, next checkpoint, kept connector.Validators) (err error) {
	if next.Address != "" {
		page.Checkpoint, err = json.Marshal(next)
		return err
	}
	left := r.at.State
	if kept != (connector.Validators{}) {
		tags := map[string]connector.Validators{r.Name: kept}
		for name, tag := range left.Tags {
			tags[name] = tag
		}
		left.Tags = tags
	}
	if a := r.at.Above; a != nil {
		return r.goOn(page, above{Page: a.Page, Values: a.Values[1:]}, left)
	}
	return r.leave(page, left)
}

// leave sets where the run continues behind a stream: at the next one, or in the next run.
func (r *run) leave(page *connector.FetchedPage, left state) (err error) {
	if n := r.at.Stream + 1; n < len(r.streams) && r.Only == "" {
		at := r.enter(n)
		at.State = left
		page.Checkpoint, err = json.Marshal(at)
		return err
	}
	page.State, err = json.Marshal(left)
	return err
}

// records adds the records to a page, one after the other.
func (r *run) records(ctx context.Context, document []byte, page *connector.FetchedPage) (read records, err error) {
	value := find(document, r.Records)
	if r.One {
		return records{count: 1}, r.record(ctx, value, 1, page)
	}
	objects := json.NewDecoder(bytes.NewReader(value))
	if _, err := objects.Token(); err != nil {
		return read, err
	}
	for objects.More() {
		read.last = nil
		if err := objects.Decode(&read.last); err != nil {
			return read, err
		}
		if read.count++; read.count > maxItems {
			return read, fault.Newf(fault.Unavailable, "the page has more than 1,000 objects; ask for smaller pages in the %s", r.words.URL)
		}
		if err := r.record(ctx, read.last, read.count, page); err != nil {
			return read, err
		}
	}
	return read, nil
}

// record adds the record with a number to a page.
func (r *run) record(ctx context.Context, record json.RawMessage, number int, page *connector.FetchedPage) error {
	if r.Show != nil {
		r.Show(record)
	}
	deleted := r.Deleted.is(record)
	if !deleted {
		r.tally(record)
	}
	name := fmt.Sprintf("object %d of the page", number)
	if refused := connector.NotUnicode(record); refused != "" {
		page.Refuse(name, refused)
		return nil
	}
	shown := page
	if deleted {
		shown = new(connector.FetchedPage)
	}
	var err error
	if r.Item != nil {
		r.item(record, name, shown)
	} else {
		err = r.mapped(ctx, record, name, shown)
	}
	if deleted {
		page.Remove(*shown)
	}
	return err
}

// is reports whether a record shows something that is gone.
func (d *Deleted) is(record json.RawMessage) bool {
	return d != nil && tells(find(record, d.Pointer), d.Values)
}

// mapped adds what the stream's mapping makes of a record. A record that no rule matches is left out. A record without an id
// makes the page incomplete: the run cannot know which item it shows. A field that cannot be read is left out with a warning, as those of an
// item are; intake leaves the item out if it needs the field.
func (r *run) mapped(ctx context.Context, record json.RawMessage, name string, page *connector.FetchedPage) error {
	actions, err := r.Mapper.Map(ctx, r.stream.mapped, r.Mapping, r.Config, record)
	if kind := fault.KindOf(err); kind == fault.Invalid || kind == fault.Malformed {
		page.Refuse(name, explain(err))
		return nil
	}
	if err != nil {
		return err
	}
	for _, a := range actions {
		field, detail := "", "the mapping gives it no externalId"
		if a.Unreadable != nil {
			field, detail = strings.TrimPrefix(a.Unreadable.Pointer, "/"), a.Unreadable.Detail
		}
		id := idOf(a)
		switch {
		case a.Note != nil && field != "":
			page.Skipped = append(page.Skipped, connector.Skipped{Item: name, Reason: field + " " + detail})
			continue
		case a.Note == nil && isNameless(id):
			page.Refuse(name, strings.TrimSpace(field+" "+detail))
			continue
		case field != "" && len(page.Warnings) == 0:
			page.Warnings = append(page.Warnings, fmt.Sprintf("%s of %s %s, so it is left out", field, strconv.Quote(text.Truncate(id, maxQuoted)), detail))
		}
		switch {
		case a.Memory != nil:
			page.Memories = append(page.Memories, *a.Memory)
		case a.Goal != nil:
			page.Goals = append(page.Goals, *a.Goal)
		case a.Note != nil:
			page.Notes = append(page.Notes, *a.Note)
		}
	}
	return nil
}

// idOf returns the provider's id of an action's item.
func idOf(a connector.Action) string {
	switch {
	case a.Memory != nil:
		return a.Memory.ExternalID
	case a.Goal != nil:
		return a.Goal.ExternalID
	}
	return ""
}

// isNameless reports whether a mapping gives no id. An expression such as .item.id | tostring makes null of a missing id.
func isNameless(id string) bool { return id == "" || id == "null" }

// explain returns what an error says of a record.
func explain(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Problems) == 0 {
		return err.Error()
	}
	said := make([]string, len(f.Problems))
	for n, p := range f.Problems {
		said[n] = strings.TrimPrefix(strings.TrimPrefix(p.Pointer, "/")+" "+p.Detail, " ")
	}
	return strings.Join(said, "; ")
}

// item adds the item that a record shows to a page.
func (r *run) item(record json.RawMessage, name string, page *connector.FetchedPage) {
	i := r.Item
	at := func(path string) json.RawMessage {
		if path == "" {
			return nil
		}
		return find(record, path)
	}
	i.Add(Fields{
		ID: textOf(at(i.ID)), Title: textOf(at(i.Title)), Body: textOf(at(i.Body)), Link: textOf(at(i.Link)), Progress: textOf(at(i.Progress)),
		UpdatedAt: connector.WhenOf(at(i.UpdatedAt)), DueAt: connector.WhenOf(at(i.DueAt)),
	}, name, r.words, page)
}

// Fields holds what a record tells of an item.
type Fields struct {
	ID, Title, Body, Link, Progress string
	UpdatedAt, DueAt                connector.When
	Measure                         *goal.Measure // nil: the progress says how far the goal is
}

// Add adds the item of a record with a name to a page. A record without an id is left out, because nothing tells it from others. It
// makes the page incomplete: the run cannot know which item it shows.
func (i Item) Add(f Fields, name string, words Words, page *connector.FetchedPage) {
	if f.ID == "" {
		page.Refuse(cmp.Or(f.Title, name), "it has no text or number at "+words.ID)
		return
	}
	title := cmp.Or(f.Title, f.ID)
	page.WarnOfTime(words.UpdatedAt, f.ID, f.UpdatedAt)
	if i.Target != ToGoal {
		page.Memories = append(page.Memories, memory.Draft{ExternalID: f.ID, Kind: i.Kind, Title: title, Body: f.Body, URL: f.Link, UpdatedAt: f.UpdatedAt.At})
		return
	}
	page.WarnOfTime(words.DueAt, f.ID, f.DueAt)
	d := goal.Draft{
		ExternalID: f.ID, Title: text.Truncate(title, maxTitle), Target: text.Truncate(f.Body, maxTarget), URL: f.Link, State: goal.Open,
		DueAt: f.DueAt.At, UpdatedAt: f.UpdatedAt.At, Measure: f.Measure,
	}
	d.Progress = words.progressOf(f.Progress, f.ID, page)
	if d.Progress == 1 {
		d.State = goal.Closed
	}
	page.Goals = append(page.Goals, d)
}

// progressOf reads a goal's progress: a number, or a text of one, perhaps in percent. It warns of any other text.
func (w Words) progressOf(said, id string, page *connector.FetchedPage) float64 {
	number, percent := strings.CutSuffix(said, "%")
	progress, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil && said != "" && len(page.Warnings) == 0:
		page.Warnings = append(page.Warnings, fmt.Sprintf("%s of %s is %s, which is no number, so it counts as 0; send a number from 0 to 1",
			w.Progress, strconv.Quote(text.Truncate(id, maxQuoted)), strconv.Quote(text.Truncate(said, maxQuoted))))
	case percent:
		return progress / 100
	}
	return progress
}
