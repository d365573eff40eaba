package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"orgops/local/process/docs"
	"orgops/shared/testkit/webtest"
)

// TestGuides reads every guide that the list leads to, and follows the links between them.
func TestGuides(t *testing.T) {
	t.Parallel()
	h := webtest.New(t)
	docs.Register(h.Server)
	seen, next := map[string]bool{}, []string{docs.GuidesPath}
	for len(next) > 0 {
		at := next[0]
		if next = next[1:]; seen[at] {
			continue
		}
		seen[at] = true
		r := h.Do("GET", at, "", nil).Want(200)
		page := string(r.Body)
		if csp := r.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") {
			t.Errorf("%s: policy = %q, want one that loads nothing", at, csp)
		}
		for _, raw := range []string{"```", "](", "\n| ", "\n## ", "raw HTML omitted"} {
			if strings.Contains(withoutCode(page), raw) {
				t.Errorf("%s shows %q, want it rendered", at, raw)
			}
		}
		for _, found := range regexp.MustCompile(`href="(/[^"]+)"`).FindAllStringSubmatch(page, -1) {
			next = append(next, found[1])
		}
	}
	for _, name := range []string{"connect", "receive", "policy", "events.ts", "listen", "mapping", "connector"} {
		if !seen[docs.GuidesPath+name] {
			t.Errorf("no link leads to the guide %s", name)
		}
	}
}

func withoutCode(page string) string {
	return regexp.MustCompile(`(?s)<code.*?</code>`).ReplaceAllString(page, "")
}

// TestGuides_Escaped looks at how the page of a guide shows a sample that has markup.
func TestGuides_Escaped(t *testing.T) {
	t.Parallel()
	h := webtest.New(t)
	docs.Register(h.Server)
	page := string(h.Do("GET", docs.GuidesPath+"connect", "", nil).Want(200).Body)
	for _, want := range []string{
		"<h1>Connect your first integration</h1>", `&lt;&lt;&lt;&quot;$SESSION&quot;`, `<a href="/api/docs/guides/receive">Receive our webhooks</a>`,
		"<code>curl</code>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %.2000s", want, page)
		}
	}
}
