package cloud

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"orgops/shared/testkit/errtest"
)

// restores rehearses the restore of infra/README.md: the tables of the stack are restored as others, the stack is pointed at them, and a
// user finds the data there. A change after the restore reaches the context, so the readers follow the new stream.
func restores(ctx context.Context, t *testing.T, s *Stack, u visitor) {
	t.Helper()
	u.connect("feed-restored", `{"url":"https://example.com/feed.xml"}`)
	u.shows("feed-restored")

	main := s.restored(ctx, t, "main", "orgops-restored")
	keys := s.restored(ctx, t, "keys", "orgops-restored-keys")
	errtest.Must(t, s.Redeploy(ctx, main, keys))
	for _, table := range []string{"ORGOPS_TABLE=orgops-restored ", "ORGOPS_KEYS_TABLE=orgops-restored-keys "} {
		if got := s.Outputs["AdminVariables"] + " "; !strings.Contains(got, table) {
			t.Errorf("the stack's variables are %s, want %s", got, table)
		}
	}
	u.url = s.URL
	u.login()
	u.shows("feed-restored")
	u.connect("webhook-restored", `{"url":"https://example.com/hook","events":["*"]}`)
	u.shows("webhook-restored")
	refusals, err := s.Refusals()
	errtest.Must(t, err)
	for _, r := range refusals { // the former mappings read the former stream for a moment, without the right
		if strings.Contains(r.Resource, "orgops-restored") {
			t.Errorf("refused on a restored table: %v, want no refusal there", r)
		}
	}
}

// restored runs the operator's command, and returns the context value that it prints.
func (s *Stack) restored(ctx context.Context, t *testing.T, table, to string) string {
	t.Helper()
	var line struct {
		Deploy string `json:"deploy"`
	}
	errtest.Must(t, json.Unmarshal(s.admin(ctx, t, "table restore --table "+table+" --to "+to), &line))
	return strings.TrimPrefix(line.Deploy, "-c ")
}
