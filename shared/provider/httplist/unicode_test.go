package httplist_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
)

// TestConnector_Fetch_unicode leaves out the objects that are not valid Unicode, each alone, and says where. Their ids do not become
// the same.
func TestConnector_Fetch_unicode(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"id":"\ud800","t":"a"},{"id":"\ud801","t":"b"},{"id":"3","t":"`+"\xff"+`"},{"id":"4","t":"\ud83d\ude00"},{"id":"5","t":"e","x":{"y":["\udc00"]}}]}`)
	})
	page, err := f.page(nil, true)
	errtest.Must(t, err)
	var ids []string
	for _, m := range page.Memories {
		ids = append(ids, m.ExternalID)
	}
	if diff := cmp.Diff([]string{"4"}, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	const what = " is not valid Unicode: it has bytes that are not UTF-8, or one half of a surrogate pair such as \\ud800"
	want := []connector.Skipped{
		{Item: "object 1 of the page", Reason: "/id" + what}, {Item: "object 2 of the page", Reason: "/id" + what},
		{Item: "object 3 of the page", Reason: "/t" + what}, {Item: "object 5 of the page", Reason: "/x/y/0" + what},
	}
	if diff := cmp.Diff(want, page.Skipped); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if !page.Incomplete {
		t.Error("the page is complete, want it incomplete: the run must not remove what it cannot read")
	}
}

// TestConnector_Fetch_cursorUnicode ends a run at a cursor that is not valid Unicode.
func TestConnector_Fetch_cursorUnicode(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[],"next":"\ud800"}`) })
	f.config["paging"], f.config["cursorPath"], f.config["parameter"] = "cursor", "/next", "cursor"
	_, err := f.page(nil, true)
	if got, want := errtest.Message(err), "the cursor of the next page is not valid Unicode"; !strings.Contains(got, want) {
		t.Errorf("error %q, want one with %q", got, want)
	}
}
