package httplist_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
)

// TestConnector_Fetch_notTheList answers a full run with what is not the list. Each answer ends the page with an error that says
// what was seen, so that no run removes what the answer does not prove.
func TestConnector_Fetch_notTheList(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-token"
	tests := []struct {
		name, body string
		status     int
		header     string
		value      string
		says       string
	}{
		{"a 304 that was not asked for", "", 304, "", "", "did not ask"},
		{"created", `{"data":[]}`, 201, "", "", "answers 201"},
		{"another's copy", `{"data":[]}`, 203, "", "", "answers 203"},
		{"no content", "", 204, "", "", "answers 204"},
		{"reset", "", 205, "", "", "answers 205"},
		{"a part", `{"data":[]}`, 206, "Content-Range", "items 0-0/9", "a part of the list"},
		{"moved", "", 301, "Location", "https://other.example/v2/items?key=x", "redirects to https://other.example/v2/items,"},
		{"a sign-in", "", 302, "Location", "/login?next=x", "/login,"},
		{"a bad request", `{"message":"x"}`, 400, "", "", "answers 400"},
		{"gone", "", 410, "", "", "removed it for good"},
		{"empty", "", 200, "", "", "not JSON"},
		{"null", "null", 200, "", "", `begins "null"`},
		{"an empty object", "{}", 200, "", "", "no list at itemsPath"},
		{"a list that is null", `{"data":null}`, 200, "", "", "no list at itemsPath"},
		{"an error", `{"error":"denied"}`, 200, "", "", "error"},
		{"an error next to an empty list", `{"error":{"code":5},"data":[]}`, 200, "", "", `member "error" reports`},
		{"not ok", `{"ok":false,"data":[]}`, 200, "", "", `member "ok" reports`},
		{"no success", `{"success":false,"data":[]}`, 200, "", "", `member "success" reports`},
		{"errors without a list", `{"errors":250,"data":[]}`, 200, "", "", `member "errors" reports`},
		{"errors", `{"errors":[{}],"data":[]}`, 200, "", "", `member "errors" reports`},
		{"a status", `{"status":"error","data":[]}`, 200, "", "", `member "status" reports`},
		{"a code", `{"code":401,"data":[]}`, 200, "", "", `member "code" reports`},
		{"an error in capitals", `{"Error":"denied","data":[]}`, 200, "", "", `member "Error" reports`},
		{"an error's message", `{"error_message":"denied","data":[]}`, 200, "", "", `member "error_message" reports`},
		{"an error's code", `{"errorCode":7,"data":[]}`, 200, "", "", `member "errorCode" reports`},
		{"no success as a number", `{"success":0,"data":[]}`, 200, "", "", `member "success" reports`},
		{"no success as a text", `{"isSuccess":"False","data":[]}`, 200, "", "", `member "isSuccess" reports`},
		{"errors by a flag", `{"hasErrors":true,"data":[]}`, 200, "", "", `member "hasErrors" reports`},
		{"a result", `{"result":"error","data":[]}`, 200, "", "", `member "result" reports`},
		{"a status with a code", `{"status":{"code":401},"data":[]}`, 200, "", "", `member "status.code" reports`},
		{"an error of what is told about the list", `{"meta":{"error":{"type":"x"}},"data":[]}`, 200, "", "", `member "meta.error" reports`},
		{"a message", `{"message":"Bad credentials"}`, 200, "", "", `Bad credentials`},
		{"a web page", "<!doctype html><title>Sign in</title><script>x()</script>", 200, "Content-Type", "text/html; charset=utf-8", `with text/html, which begins "Sign in"`},
		{"the credentials", `{"message":"no s3cr3t-token"}`, 200, "", "", "no …"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if tt.header != "" {
					w.Header().Set(tt.header, tt.value)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			f.config["auth"], f.secrets = "bearer", map[string]string{"token": secret}
			_, err := f.page(nil, true)
			if !errors.Is(err, connector.ErrNotListed) {
				t.Errorf("error %v, want %v", err, connector.ErrNotListed)
			}
			got := errtest.Message(err)
			if !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), tt.says) {
				t.Errorf("error %q, want %q in it", got, tt.says)
			}
			if strings.Contains(got, secret) {
				t.Errorf("error %q names the token, want it left out", got)
			}
		})
	}
}

// TestConnector_Fetch_theList reads documents that look like an error and are the list.
func TestConnector_Fetch_theList(t *testing.T) {
	t.Parallel()
	for _, document := range []string{
		`{"data":[{"id":1,"t":"x"}],"error":null,"errors":[],"ok":true,"status":"ok","code":200,"message":"done"}`,
		`{"data":[{"id":1,"t":"x"}],"errorCode":"0","errorMessage":"Success","hasErrors":false,"result":"ok","status":{"code":200},"meta":{"errors":[]}}`,
		`{"data":[{"id":1,"t":"x"}],"errors":250}`,
		"\xEF\xBB\xBF" + `{"data":[{"id":1,"t":"x"}],"error":"","status":1}`,
		`{ "data" : [ { "id" : 1, "t" : "x" } ], "errors" : [ ], "error" : { }, "errorCode" : "0000", "errorMessage" : "No error" }`,
		`{"data":[{"id":1,"t":"x"}],"errorCode":"200","errorMessage":"Success.","result":450}`,
	} {
		f := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, document) })
		if diff := cmp.Diff([]string{"1"}, f.run(true)); diff != "" {
			t.Errorf("%s: ids differ (-want +got):\n%s", document, diff)
		}
	}
	f := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"errors":[{"id":1,"t":"x"}]}`) })
	f.config["itemsPath"] = "/errors" // a list of errors
	if diff := cmp.Diff([]string{"1"}, f.run(true)); diff != "" {
		t.Errorf("a list of errors: ids differ (-want +got):\n%s", diff)
	}
}

// TestConnector_Fetch_badItems leaves out the item without an id, and keeps the others with what they have.
func TestConnector_Fetch_badItems(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"id":1,"t":null},{"id":2,"t":{"x":1},"at":["x"]},{"id":[3],"t":"Three"},7,null,{"id":4,"t":"Four","at":1772359445}]}`)
	})
	f.config["updatedAtPath"] = "/at"
	page, err := f.page(nil, true)
	errtest.Must(t, err)
	got := map[string]string{}
	for _, m := range page.Memories {
		got[m.ExternalID] = m.Title
	}
	if diff := cmp.Diff(map[string]string{"1": "1", "2": "2", "4": "Four"}, got); diff != "" {
		t.Errorf("items differ (-want +got):\n%s", diff)
	}
	names := []string{}
	for _, s := range page.Skipped {
		names = append(names, s.Item)
	}
	if diff := cmp.Diff([]string{"Three", "object 4 of the page", "object 5 of the page"}, names); diff != "" {
		t.Errorf("left out differs (-want +got):\n%s", diff)
	}
	if len(page.Warnings) != 1 {
		t.Errorf("warnings %q, want one", page.Warnings)
	}
	changed := time.Unix(1772359445, 0).UTC()
	if diff := cmp.Diff(&changed, page.Memories[2].UpdatedAt); diff != "" {
		t.Errorf("time of the change differs (-want +got):\n%s", diff)
	}
}

// TestConnector_Fetch_cycles ends a list whose pages repeat, by a link or a cursor, near or far.
func TestConnector_Fetch_cycles(t *testing.T) {
	t.Parallel()
	const cursor, link = "cursor", "link"
	tests := []struct {
		paging      string
		into, pages int // the page behind the last one is this one
	}{
		{cursor, 0, 2}, {cursor, 1, 3}, {cursor, 3, 9}, {cursor, 0, 100}, {cursor, 40, 100},
		{link, 0, 1}, {link, 0, 2}, {link, 1, 4}, {link, 7, 8}, {link, 0, 90},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %d of %d", tt.paging, tt.into, tt.pages), func(t *testing.T) {
			t.Parallel()
			f := serve(t, func(w http.ResponseWriter, r *http.Request) {
				at := query(r, "c")
				next := at + 1
				if next == tt.pages {
					next = tt.into
				}
				more := map[string]any{"next": fmt.Sprint(next)}
				if tt.paging == link {
					w.Header().Set("Link", fmt.Sprintf(`</items?c=%d>; rel="next"`, next))
				}
				rows(w, at, 1, more)
			})
			f.config["url"] = f.config["url"].(string) + "?c=0"
			if tt.paging == cursor {
				f.config["paging"], f.config["cursorPath"], f.config["parameter"] = cursor, "/next", "c"
			}
			err := f.until()
			if !errors.Is(err, connector.ErrEndless) {
				t.Fatalf("error %v, want %v", err, connector.ErrEndless)
			}
			if asked := len(f.asked); asked > tt.pages+2 {
				t.Errorf("%d requests, want at most 2 more than %d pages", asked, tt.pages)
			}
		})
	}
}

// until fetches pages until one fails, or the list ends.
func (f *fetching) until() error {
	for page, err := f.page(nil, true); ; page, err = f.page(page.Checkpoint, true) {
		if err != nil || page.Checkpoint == nil {
			return err
		}
	}
}

// TestConnector_Fetch_ignored ends a list whose server gives the same page for every offset or cursor.
func TestConnector_Fetch_ignored(t *testing.T) {
	t.Parallel()
	for _, config := range []map[string]any{
		{"paging": "offset", "parameter": "skip"}, {"paging": "cursor", "parameter": "c", "cursorPath": "/next"},
	} {
		f := serve(t, func(w http.ResponseWriter, _ *http.Request) { rows(w, 0, 2, map[string]any{"next": "x"}) })
		for name, value := range config {
			f.config[name] = value
		}
		if err := f.until(); !errors.Is(err, connector.ErrEndless) {
			t.Errorf("%v: error %v, want %v", config, err, connector.ErrEndless)
		}
		if asked := len(f.asked); asked > 3 {
			t.Errorf("%v: %d requests, want at most 3", config, asked)
		}
	}
}

// TestConnector_Fetch_lastCursor ends a list that gives a cursor with its last page too.
func TestConnector_Fetch_lastCursor(t *testing.T) {
	t.Parallel()
	tests := map[string]func(at int) (rows int, next string){
		"the last page repeats its cursor": func(at int) (int, string) { return 1, fmt.Sprint(min(at+1, 2)) },
		"an empty page repeats its cursor": func(at int) (int, string) { return max(0, min(1, 3-at)), fmt.Sprint(min(at+1, 3)) },
		"empty pages have new cursors":     func(at int) (int, string) { return max(0, min(1, 3-at)), fmt.Sprint(at + 1) },
		"a page between has no object":     func(at int) (int, string) { return [...]int{2, 0, 1}[at], [...]string{"1", "2", ""}[at] },
	}
	for name, page := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, func(w http.ResponseWriter, r *http.Request) {
				at := query(r, "c")
				n, next := page(at)
				rows(w, at, n, map[string]any{"next": next})
			})
			f.config["paging"], f.config["cursorPath"], f.config["parameter"] = "cursor", "/next", "c"
			if ids := f.run(true); len(ids) != 3 {
				t.Errorf("ids %v, want three", ids)
			}
			if asked := len(f.asked); asked > 6 {
				t.Errorf("%d requests, want at most 6", asked)
			}
		})
	}
}

// TestConnector_Fetch_lastWords ends a list whose last page says in one of several ways that no page follows.
func TestConnector_Fetch_lastWords(t *testing.T) {
	t.Parallel()
	for _, last := range []any{nil, false, 0, ""} {
		f := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if query(r, "c") == 1 {
				rows(w, 1, 1, map[string]any{"next": last})
			} else {
				rows(w, 0, 1, map[string]any{"next": "1"})
			}
		})
		f.config["paging"], f.config["cursorPath"], f.config["parameter"] = "cursor", "/next", "c"
		if ids := f.run(true); len(ids) != 2 {
			t.Errorf("%v: ids %v, want two", last, ids)
		}
	}
}

// TestConnector_Fetch_cursorAddress follows a cursor that is the whole address of the next page.
func TestConnector_Fetch_cursorAddress(t *testing.T) {
	t.Parallel()
	var f *fetching
	f = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if at := query(r, "page"); at < 2 {
			rows(w, at, 1, map[string]any{"next": fmt.Sprintf("%s/items?filter=a%%20b&page=%d", f.url, at+1)})
		} else {
			rows(w, at, 1, nil)
		}
	})
	f.config["paging"], f.config["cursorPath"], f.config["parameter"] = "cursor", "/next", "c"
	if ids := f.run(true); len(ids) != 3 {
		t.Errorf("ids %v, want three", ids)
	}
	if diff := cmp.Diff([]bool{false, true, true}, f.shifting); diff != "" {
		t.Errorf("what the pages say of shifting differs (-want +got):\n%s", diff)
	}
	if got, want := f.asked[2], "/items?filter=a%20b&page=2"; got != want {
		t.Errorf("the last request is for %s, want %s", got, want)
	}
}

// TestConnector_Fetch_filter keeps the query of the configured url byte for byte on every page.
func TestConnector_Fetch_filter(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, "off=1") {
			rows(w, 1, 0, nil)
			return
		}
		rows(w, 0, 1, nil)
	})
	f.config["url"] = f.config["url"].(string) + "?state=open;x=1&tag=b&tag=a%2fc&off=0&q=%2B&&e"
	f.config["paging"], f.config["parameter"] = "offset", "off"
	f.run(true)
	want := []string{"/items?state=open;x=1&tag=b&tag=a%2fc&off=0&q=%2B&&e", "/items?state=open;x=1&tag=b&tag=a%2fc&q=%2B&e&off=1"}
	if diff := cmp.Diff(want, f.asked); diff != "" {
		t.Errorf("requests differ (-want +got):\n%s", diff)
	}
}

// TestConnector_Fetch_sameHost follows links to the same host in another spelling.
func TestConnector_Fetch_sameHost(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "" {
			w.Header().Set("Link", fmt.Sprintf(`<HTTP://LOCALHOST%s/items?p=2>; rel="next"`, r.Host[strings.LastIndexByte(r.Host, ':'):]))
		}
		rows(w, len(r.URL.RawQuery), 1, nil)
	})
	f.config["url"] = strings.Replace(f.config["url"].(string), "127.0.0.1", "localhost", 1)
	if ids := f.run(true); len(ids) != 2 {
		t.Errorf("ids %v, want those of both pages", ids)
	}
}

// TestConnector_Fetch_progress reads a goal's progress as a number, a text or percent, and warns of another text instead of showing no
// progress without a word.
func TestConnector_Fetch_progress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		said any
		want float64
		warn bool
	}{{0.25, 0.25, false}, {"0.25", 0.25, false}, {"75 %", 0.75, false}, {"100%", 1, false}, {nil, 0, false}, {"", 0, false}, {"half", 0, true}, {true, 0, true}, {"%", 0, true}} {
		f := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]any{"data": []any{map[string]any{"id": 1, "t": "Ship", "done": tt.said}}})
		})
		f.config["target"], f.config["progressPath"] = "goal", "/done"
		page, err := f.page(nil, false)
		errtest.Must(t, err)
		if got := page.Goals[0].Progress; got != tt.want {
			t.Errorf("%v: progress %v, want %v", tt.said, got, tt.want)
		}
		if warned := len(page.Warnings) > 0; warned != tt.warn {
			t.Errorf("%v: warnings %q, want one: %t", tt.said, page.Warnings, tt.warn)
		}
	}
}
