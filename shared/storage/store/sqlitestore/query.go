package sqlitestore

import (
	"cmp"
	"context"

	"zombiezen.com/go/sqlite"

	"orgops/shared/storage/store"
)

// pageBytes limits the total size of a page's bodies. A page ends early at this size, as DynamoDB's pages do.
const pageBytes = 1 << 20

const (
	queryAscending  = `SELECT sk, entity, version, at, expires, body FROM item WHERE pk = ? AND sk >= ? AND sk < ? AND (expires = 0 OR expires > ?) ORDER BY sk`
	queryDescending = queryAscending + ` DESC`
)

// beyond sorts after every key, because no UTF-8 text starts with this byte.
const beyond = "\xff"

// Query implements store.Store.
func (s *Store) Query(ctx context.Context, p store.Partition, q store.Query) (store.Page, error) {
	limit := q.Limit
	if limit <= 0 || limit > store.MaxPage {
		limit = store.MaxPage
	}
	low, high := bounds(q)
	if low >= high {
		return store.Page{}, nil
	}
	text := queryAscending
	if q.Desc {
		text = queryDescending
	}
	now := s.o.Now().Unix()
	var page store.Page
	err := s.db.Read(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(text)
		if err != nil {
			return err
		}
		stmt.BindText(1, p.String())
		stmt.BindText(2, low)
		stmt.BindText(3, high)
		stmt.BindInt64(4, now)
		page, err = readPage(stmt, limit)
		return err
	})
	if err != nil {
		return store.Page{}, contractError(err)
	}
	return page, nil
}

// readPage reads one row more than it returns, to learn whether more items follow.
func readPage(stmt *sqlite.Stmt, limit int) (store.Page, error) {
	var page store.Page
	size := 0
	for {
		more, err := stmt.Step()
		if err != nil {
			return store.Page{}, err
		}
		if !more {
			return page, nil
		}
		if n := len(page.Items); n == limit || size >= pageBytes {
			page.Next = page.Items[n-1].Key
			return page, stmt.Reset()
		}
		item := scanItem(stmt, stmt.ColumnText(0), 1)
		size += len(item.Body)
		page.Items = append(page.Items, item)
	}
}

// bounds returns the query's range of keys, low included and high excluded.
func bounds(q store.Query) (low, high string) {
	low, high = max(q.Prefix, q.From), cmp.Or(q.PrefixEnd(), beyond)
	if q.To != "" {
		high = min(high, q.To+"\x00")
	}
	switch {
	case q.After == "":
	case q.Desc:
		high = min(high, q.After)
	default:
		low = max(low, q.After+"\x00")
	}
	return low, high
}
