package postgresql

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"orgops/shared/base/text"
	"orgops/shared/domain/goal"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/manifest"
)

// quoted matches what a semicolon may stand in: texts, names and comments.
const quoted text.Pattern = `(?s)'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/`

// several reports whether a query has more than one statement. The server refuses several too; this says so when the query is configured.
func several(query string) bool {
	return strings.Contains(quoted.Regexp().ReplaceAllString(query, ""), ";")
}

// columns lists the columns that a row is read from, in order. A stream without one of them reads null.
func (s Stream) columns() []string {
	return []string{
		s.IDColumn, s.TitleColumn, s.BodyColumn, s.LinkColumn, s.UpdatedAtColumn, s.ProgressColumn, s.DueAtColumn, s.CurrentColumn, s.TargetColumn,
	}
}

// page returns the statement that reads a page, and its arguments: the rows behind a key, or the first ones. Its first column is the key of the next page,
// the text of the id in the form that its type reads. The server writes the other values as in JSON, so that numbers are exact and times
// are those of RFC 3339, and cuts them, so that a row has a bound. The last columns are what the tallies count, of the row as JSON. Rows without an id come first,
// where a page shows them once. The last row tells whether others follow.
func (s Stream) page(after *string, tallies []*goal.Tally) (statement string, arguments [][]byte) {
	var b strings.Builder
	id := identifier(s.IDColumn)
	fmt.Fprintf(&b, "SELECT %s::text", id)
	for _, column := range s.columns() {
		if column == "" {
			b.WriteString(", NULL")
		} else {
			fmt.Fprintf(&b, ", left(to_json(%s) #>> '{}', %d)", identifier(column), MaxText)
		}
	}
	argument := func(text string) string {
		arguments = append(arguments, []byte(text))
		return fmt.Sprintf("$%d", len(arguments))
	}
	for _, t := range tallies {
		var path []string
		for _, name := range manifest.Tokens(t.Source.Pointer) {
			path = append(path, argument(name)+"::text")
		}
		fmt.Fprintf(&b, ", left((to_json(q) #> ARRAY[%s]::text[])::text, %d)", strings.Join(path, ", "), MaxText)
	}
	fmt.Fprintf(&b, " FROM (%s\n) AS q", s.Query) // the query may end in a comment
	if after != nil {
		fmt.Fprintf(&b, " WHERE %s > %s ORDER BY %s LIMIT %d", id, argument(*after), id, MaxRows+1)
	} else {
		fmt.Fprintf(&b, " ORDER BY %s NULLS FIRST LIMIT %d", id, MaxRows+1)
	}
	return b.String(), arguments
}

// identifier returns a column of the query as SQL writes its name.
func identifier(column string) string {
	return `q."` + strings.ReplaceAll(strings.ReplaceAll(column, "\x00", ""), `"`, `""`) + `"`
}

// add adds what a stream makes of the row with a number to a page. The values are those of the columns.
func (s Stream) add(values [][]byte, number int, page *connector.FetchedPage) {
	row := fmt.Sprintf("row %d of the page of %s", number, s.Name)
	for n, value := range values {
		if !utf8.Valid(value) {
			page.Refuse(row, s.columns()[n]+" is not valid Unicode")
			return
		}
	}
	text := func(n int) string { return string(values[n]) }
	f := manifest.Fields{
		Title: text(1), Body: text(2), Link: text(3), UpdatedAt: connector.WhenIn(text(4)), Progress: text(5), DueAt: connector.WhenIn(text(6)),
	}
	if id := text(0); id != "" {
		f.ID = s.Name + "/" + id
	}
	if s.CurrentColumn != "" {
		f.Measure = &goal.Measure{Current: text(7), Target: text(8), Unit: s.Unit, Direction: goal.Direction(cmp.Or(s.Direction, string(goal.Up)))}
	}
	words := manifest.Words{ID: "idColumn", UpdatedAt: "updatedAtColumn", DueAt: "dueAtColumn", Progress: "progressColumn"}
	manifest.Item{Target: s.Target, Kind: ItemKind}.Add(f, row, words, page)
}
