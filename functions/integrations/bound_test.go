package integrations_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBound lets a caller that is bound to an integration read and change that integration, and no other.
func TestBound(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configured("github", map[string]any{"repository": "octo/app"}, 201)
	s.configured("feed", map[string]any{"url": "https://example.com/feed"}, 201)
	bound := s.BoundToken(s.A.ID, "github")
	path := "/companies/" + s.A.ID + "/integrations"
	var listed struct{ Items []struct{ Provider string } }
	s.Do("GET", path, bound, nil).Want(200).JSON(&listed)
	if diff := cmp.Diff([]struct{ Provider string }{{"github"}}, listed.Items); diff != "" {
		t.Errorf("integrations (-want +got):\n%s", diff)
	}
	s.Do("GET", path+"/github", bound, nil).Want(200)
	s.Do("POST", path+"/github/disable", bound, nil).Want(200)
	for _, other := range []string{"feed", "webhook", "github-2", "GitHub", "git%68ubs"} {
		s.Do("GET", path+"/"+other, bound, nil).WantProblem(403, "forbidden")
		s.Do("POST", path+"/"+other+"/disable", bound, nil).WantProblem(403, "forbidden")
	}
}
