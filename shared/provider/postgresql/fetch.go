package postgresql

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/provider/connector"
)

// Limits of one page. The server cuts each text and ends a statement; the client bounds what it reads from any server.
const (
	MaxRows   = 500
	MaxText   = 64 << 10         // characters of a value
	QueryTime = 10 * time.Second // of a statement; Begin sets it
	maxPage   = 4 << 20          // bytes of rows, after which a page ends
	maxKey    = 2048             // bytes of the id with which the next page begins
	timeout   = 15 * time.Second
)

// checkpoint says where the next page of a run begins.
type checkpoint struct {
	Stream int             `json:"stream,omitempty"`
	After  *string         `json:"after,omitempty"` // key of the last row that was read; nil: the stream's first page
	Trail  connector.Trail `json:"trail,omitzero"`
}

// writes asks whether the role may change a table. The system's own schemas do not count.
const writes = `SELECT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user)
OR EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))`

// tooMuch warns of a role that can do more than read.
const tooMuch = "the role can write to the database. Every query runs in a read-only transaction, but give the integration a role that can only read"

// Fetch implements connector.Source. A page has its own connection and transaction.
func (c *Connector) Fetch(ctx context.Context, f connector.Fetch) (connector.FetchedPage, error) {
	var at checkpoint
	if len(f.Checkpoint) > 0 {
		if err := json.Unmarshal(f.Checkpoint, &at); err != nil {
			return connector.FetchedPage{}, fmt.Errorf("checkpoint of %s: %w", Kind, err)
		}
	}
	config := read(f.Config)
	if f.Only != "" {
		config.Streams = slices.DeleteFunc(config.Streams, func(s Stream) bool { return s.Name != f.Only })
	}
	if at.Stream < 0 || at.Stream >= len(config.Streams) {
		return connector.FetchedPage{}, fault.New(fault.Conflict, "the streams were changed during the sync; request another sync")
	}
	if c.open == nil {
		return connector.FetchedPage{}, errors.New("this program reads no databases")
	}
	stream := config.Streams[at.Stream]
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	database, err := c.open(ctx, c.server(config, f.Credentials[passwordField]))
	if err != nil {
		return connector.FetchedPage{}, explain(ctx, "", err)
	}
	defer database.Close()
	page := connector.FetchedPage{List: stream.Name}
	if len(f.Checkpoint) == 0 {
		if page.Warnings, err = warnings(ctx, database); err != nil {
			return connector.FetchedPage{}, explain(ctx, "", err)
		}
	}
	last, more, err := rows(ctx, database, stream, at.After, f.TalliesOf(stream.Name), &page)
	if err != nil {
		return connector.FetchedPage{}, explain(ctx, stream.Name, err)
	}
	return page, at.turn(config, last, more, &page)
}

// warnings tells what a founder should know of the role.
func warnings(ctx context.Context, database Session) (all []string, err error) {
	rows := 0
	err = database.Query(ctx, writes, nil, 1, func(values [][]byte) bool {
		if all == nil && bytes.Equal(values[0], []byte("t")) {
			all = []string{tooMuch}
		}
		rows++
		return rows == 1
	})
	if rows > 1 && err == nil {
		err = ErrUnasked
	}
	return all, err
}

// rows adds a page of rows, and gives each to the tallies of the stream. last is the key of the last row, and nil if that has none or no row was added. more reports that rows may follow.
// All rows with one key are on one page, because the next page begins behind a key. So those of the last one wait for the next page if others may have it.
func rows(
	ctx context.Context, database Session, s Stream, after *string, tallies []*goal.Tally, page *connector.FetchedPage,
) (last []byte, more bool, err error) {
	if after == nil {
		for _, t := range tallies {
			t.Reset()
		}
	}
	statement, arguments := s.page(after, tallies)
	width := len(s.columns())
	var held [][][]byte // rows with the last key
	count, size, added := 0, 0, 0
	add := func() {
		for _, values := range held {
			added++
			last = values[0]
			s.add(values[1:1+width], added, page)
			for n, t := range tallies {
				t.Add(values[1+width+n])
			}
		}
		held = nil
	}
	err = database.Query(ctx, statement, arguments, 1+width+len(tallies), func(values [][]byte) bool {
		if count++; count > MaxRows+1 {
			return false
		}
		if len(held) > 0 && !sameKey(held[0][0], values[0]) {
			add()
			if more = size >= maxPage; more {
				return false
			}
		}
		row := make([][]byte, len(values))
		for n, value := range values {
			row[n] = bytes.Clone(value)
			size += len(value)
		}
		held = append(held, row)
		more = count > MaxRows || size >= 2*maxPage
		return size < 2*maxPage
	})
	switch {
	case err != nil:
	case count > MaxRows+1:
		err = ErrUnasked
	case !more:
		add()
	}
	return last, more, err
}

// sameKey reports whether two rows have the same key. A key that is null is not an empty text.
func sameKey(one, other []byte) bool {
	return (one == nil) == (other == nil) && bytes.Equal(one, other)
}

// turn says where the run continues: behind the last row, at the next stream, or nowhere.
func (at checkpoint) turn(config Config, last []byte, more bool, page *connector.FetchedPage) (err error) {
	next := checkpoint{Stream: at.Stream + 1, Trail: at.Trail}
	if more {
		key := string(last)
		switch {
		case last == nil:
			return fault.Newf(fault.Unavailable, "more than %d rows of the stream %s, or more than 8 MiB of them, have the same id or none; choose an idColumn that tells rows apart", MaxRows, config.Streams[at.Stream].Name)
		case len(last) > maxKey:
			return fault.Newf(fault.Unavailable, "an id of the stream %s is longer than %d bytes; choose another idColumn", config.Streams[at.Stream].Name, maxKey)
		case !utf8.Valid(last):
			return fault.Newf(fault.Unavailable, "an id of the stream %s is not valid Unicode; convert it in its query", config.Streams[at.Stream].Name)
		}
		var repeated bool
		next.Stream, next.After = at.Stream, &key
		if next.Trail, repeated = at.Trail.Add(fmt.Sprintf("%d %s", at.Stream, key)); repeated {
			return fault.Wrap(fault.Unavailable, "the server gives rows again that it has given before; check the order of the column "+config.Streams[at.Stream].IDColumn, connector.ErrEndless)
		}
	}
	if next.Stream < len(config.Streams) {
		page.Checkpoint, err = json.Marshal(next)
	}
	return err
}
