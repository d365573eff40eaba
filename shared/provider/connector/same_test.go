package connector_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

// fixed is a source with one page.
type fixed struct {
	connector.Source
	page connector.FetchedPage
}

func (f fixed) Fetch(context.Context, connector.Fetch) (connector.FetchedPage, error) {
	return f.page, nil
}

// A page of different items with one id warns of them: all but one are lost. An item that is listed twice is no loss.
func TestFetchPage_SameID(t *testing.T) {
	t.Parallel()
	early, late := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		name string
		page connector.FetchedPage
		want []string // the beginnings
	}{
		{"different", connector.FetchedPage{Memories: []memory.Draft{{ExternalID: "x", Title: "a"}, {ExternalID: "x", Title: "b"}, {ExternalID: "x", Title: "c"}}},
			[]string{`items of the page that have the id of another item, such as "x": 2;`}},
		{"goals", connector.FetchedPage{Goals: []goal.Draft{{ExternalID: "g", Title: "a"}, {ExternalID: "g", Title: "b"}}},
			[]string{`items of the page that have the id of another item, such as "g": 1;`}},
		{"the same twice", connector.FetchedPage{Memories: []memory.Draft{{ExternalID: "x", Title: "a"}, {ExternalID: "x", Title: "a"}}}, nil},
		{"changed", connector.FetchedPage{Memories: []memory.Draft{{ExternalID: "x", Title: "a", UpdatedAt: &late}, {ExternalID: "x", Title: "b", UpdatedAt: &early}}}, nil},
		{"a memory and a goal", connector.FetchedPage{Memories: []memory.Draft{{ExternalID: "x", Title: "a"}}, Goals: []goal.Draft{{ExternalID: "x", Title: "b"}}}, nil},
		{"without ids", connector.FetchedPage{Memories: []memory.Draft{{Title: "a"}, {Title: "b"}}}, nil},
	}
	for _, tt := range tests {
		page, err := connector.FetchPage(t.Context(), fixed{page: tt.page}, connector.Fetch{})
		errtest.Must(t, err)
		var got []string
		for n, w := range page.Warnings {
			got = append(got, w[:min(len(w), len(tt.want[n]))])
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: warnings differ (-want +got):\n%s", tt.name, strings.TrimSpace(diff))
		}
	}
}

// site is a source of a configured site.
type site struct{ fixed }

func (site) Address(json.RawMessage) string { return "https://acme.example.com" }

// A fetch through another address needs the permit for the configured host too.
func TestFetchPage_Base(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		base  string
		asked []string
	}{
		{"", nil},
		{"https://api.example.com/site", []string{"acme.example.com"}},
	} {
		for _, refusal := range []error{nil, errors.New("refused")} {
			var asked []string
			ctx := outbound.WithPermit(t.Context(), func(_ context.Context, host string) error {
				asked = append(asked, host)
				return refusal
			})
			source := site{fixed{page: connector.FetchedPage{List: "a"}}}
			page, err := connector.FetchPage(ctx, source, connector.Fetch{Base: tt.base})
			if diff := cmp.Diff(tt.asked, asked); diff != "" {
				t.Errorf("base %q: hosts that the permit was asked about differ (-want +got):\n%s", tt.base, diff)
			}
			if tt.base == "" || refusal == nil {
				errtest.Must(t, err)
				continue
			}
			if !errors.Is(err, refusal) {
				t.Errorf("base %q: error %v, want %v", tt.base, err, refusal)
			}
			if page.List != "" {
				t.Errorf("base %q: a refused page was fetched", tt.base)
			}
		}
	}
}
