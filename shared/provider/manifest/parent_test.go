package manifest_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/goal"
	"orgops/shared/testkit/errtest"
)

// boards is a manifest of boards, and of the cards of each.
const boards = `{"streams":[
	{"name":"boards","request":{"path":"/boards"},"records":"/data","paging":{"type":"page","parameter":"page","first":1},"incremental":{"parameter":"since","form":"epoch-s"},
		"deleted":{"pointer":"/closed"},"item":{"target":"memory","kind":"board","id":"/id","title":"/t"}},
	{"name":"cards","parent":{"stream":"boards","pointer":"/id","variable":"board"},"request":{"path":"/boards/{board}/cards"},"records":"/data",
		"paging":{"type":"cursor","pointer":"/next","parameter":"after"},"incremental":{"parameter":"since","form":"epoch-s"},
		"item":{"target":"memory","kind":"card","id":"/id","title":"/t"}}]}`

// serveBoards answers with the boards of the pages, and two pages of cards for the board b1, none for the others.
func serveBoards(t *testing.T, pages ...string) *provider {
	t.Helper()
	return serve(t, `{}`, boards, func(w http.ResponseWriter, r *http.Request, _ string) {
		if r.URL.Path == "/boards" {
			n, _ := strconv.Atoi(r.FormValue("page"))
			data := "[]"
			if n <= len(pages) && r.FormValue("since") == "" {
				data = pages[n-1]
			}
			fmt.Fprintf(w, `{"data":%s}`, data)
			return
		}
		switch r.URL.Path + r.FormValue("after") {
		case "/boards/b1/cards":
			fmt.Fprint(w, `{"data":[{"id":"c1","t":"x"},{"id":"c2","t":"x"}],"next":"n"}`)
		case "/boards/b1/cardsn":
			fmt.Fprint(w, `{"data":[{"id":"c3","t":"x"}]}`)
		case "/boards/b%2F2/cards", "/boards/b/2/cards":
			fmt.Fprint(w, `{"data":[{"id":"c4","t":"x"}]}`)
		default:
			fmt.Fprint(w, `{"data":[]}`)
		}
	})
}

// TestFetch_parents reads the cards of every board, over the pages of the boards and those of the cards. A run that asks for what has changed
// asks so for the cards of all boards, because a board that has not changed may have cards that have.
func TestFetch_parents(t *testing.T) {
	t.Parallel()
	p := serveBoards(t, `[{"id":"b1","t":"x"},{"id":"b0","t":"x","closed":true},{"id":"b/2","t":"x"}]`, `[{"id":"b3","t":"x"}]`)
	ids, err := p.run(true)
	errtest.Must(t, err)
	if diff := cmp.Diff([]string{"b1", "b/2", "b3", "c1", "c2", "c3", "c4"}, ids); diff != "" {
		t.Errorf("ids differ (-want +got):\n%s", diff)
	}
	asked := []string{
		"/boards?page=1", "/boards?page=2", "/boards?page=3",
		"/boards?page=1", "/boards/b1/cards", "/boards/b1/cards?after=n", "/boards/b%2F2/cards", "/boards?page=2", "/boards/b3/cards", "/boards?page=3",
	}
	if diff := cmp.Diff(asked, p.asked); diff != "" {
		t.Errorf("requests differ (-want +got):\n%s", diff)
	}
	for _, page := range p.pages[3:] {
		if page.List != "cards" {
			t.Errorf("a page of %q, want all behind the third of cards", page.List)
		}
	}
	_, err = p.run(false)
	errtest.Must(t, err)
	since := "since=" + strconv.FormatInt(now.Add(-5*time.Minute).Unix(), 10)
	asked = []string{
		"/boards?page=1&" + since,
		"/boards?page=1", "/boards/b1/cards?" + since, "/boards/b1/cards?" + since + "&after=n", "/boards/b%2F2/cards?" + since, "/boards?page=2",
		"/boards/b3/cards?" + since, "/boards?page=3",
	}
	if diff := cmp.Diff(asked, p.asked); diff != "" {
		t.Errorf("requests for what has changed differ (-want +got):\n%s", diff)
	}
}

// TestFetch_parents_nameless completes no run with a board whose cards it cannot ask for.
func TestFetch_parents_nameless(t *testing.T) {
	t.Parallel()
	for _, board := range []string{`{"t":"x"}`, `{"id":"..","t":"x"}`, `{"id":"` + strings.Repeat("x", 257) + `","t":"x"}`} {
		p := serveBoards(t, "["+board+`,{"id":"b1","t":"x"}]`)
		p.only = "cards"
		ids, err := p.run(true)
		errtest.Must(t, err)
		if diff := cmp.Diff([]string{"c1", "c2", "c3"}, ids); diff != "" {
			t.Errorf("%.40s: ids differ (-want +got):\n%s", board, diff)
		}
		if !p.pages[0].Incomplete {
			t.Errorf("%.40s: the page is complete, want it incomplete", board)
		}
	}
}

// TestFetch_parents_stale reads the cards of the same board again when a cursor has expired.
func TestFetch_parents_stale(t *testing.T) {
	t.Parallel()
	expired := false
	p := serve(t, `{}`, strings.Replace(boards, `"parameter":"after"`, `"parameter":"after","stale":[400]`, 1), func(w http.ResponseWriter, r *http.Request, _ string) {
		switch {
		case r.URL.Path == "/boards" && r.FormValue("page") == "1":
			fmt.Fprint(w, `{"data":[{"id":"b1","t":"x"}]}`)
		case r.URL.Path == "/boards":
			fmt.Fprint(w, `{"data":[]}`)
		case r.FormValue("after") == "":
			fmt.Fprint(w, `{"data":[{"id":"c1","t":"x"}],"next":"n"}`)
		case !expired:
			expired = true
			w.WriteHeader(http.StatusBadRequest)
		default:
			fmt.Fprint(w, `{"data":[{"id":"c2","t":"x"}]}`)
		}
	})
	p.only = "cards"
	ids, err := p.run(true)
	errtest.Must(t, err)
	if diff := cmp.Diff([]string{"c1", "c1", "c2"}, ids); diff != "" {
		t.Errorf("ids differ (-want +got):\n%s", diff)
	}
}

// TestFetch_parents_tally counts the records of all parents.
func TestFetch_parents_tally(t *testing.T) {
	t.Parallel()
	p := serveBoards(t, `[{"id":"b1","t":"x"},{"id":"b/2","t":"x"}]`)
	p.only, p.tally = "cards", &goal.Tally{Source: goal.Source{Stream: "cards", Pointer: "/id", Aggregate: goal.Count}}
	_, err := p.run(true)
	errtest.Must(t, err)
	if value, _ := p.tally.Result(); value != "4" {
		t.Errorf("%s cards are counted, want 4", value)
	}
}
