package blackbox_test

import (
	"net/url"
	"regexp"
	"strings"

	"orgops/shared/testkit/errtest"
)

// resolve returns the url that a reference in the answer to base+path leads to (RFC 3986 §5).
func resolve(base, path, reference string) (string, error) {
	asked, err := url.Parse(base + path)
	if err != nil {
		return "", err
	}
	to, err := asked.Parse(reference)
	if err != nil {
		return "", err
	}
	return to.String(), nil
}

// follow returns a request for a reference in the answer to asked. The reference must lead to this API.
func (j *journey) follow(asked request, reference string) request {
	j.t.Helper()
	if reference == "" {
		j.t.Fatalf("%s %s refers to nothing", asked.method, asked.path)
	}
	to, err := resolve(j.target.url, asked.path, reference)
	errtest.Must(j.t, err)
	path, own := strings.CutPrefix(to, j.target.url)
	if !own {
		j.t.Fatalf("%s %s refers to %q, which leads to %q, want an address below %q", asked.method, asked.path, reference, to, j.target.url)
	}
	return get(path)
}

// reference masks the url that a reference leads to.
func (m *mask) reference(s string) string {
	to, err := resolve(m.base, m.asked, s)
	if err != nil {
		return m.text(s)
	}
	return m.text(to)
}

var linked = regexp.MustCompile(`<[^>]*>`)

// next returns the first reference of the Link header (RFC 8288).
func next(a answer) string { return strings.Trim(linked.FindString(a.header.Get("Link")), "<>") }

// links masks a Link header.
func (m *mask) links(header string) string {
	parts := linked.FindAllStringIndex(header, -1)
	var b strings.Builder
	from := 0
	for _, at := range parts {
		b.WriteString(m.text(header[from:at[0]]) + "<" + m.reference(header[at[0]+1:at[1]-1]) + ">")
		from = at[1]
	}
	return b.String() + m.text(header[from:])
}

// hrefs returns the members with the name href, at any depth.
func hrefs(v any) []string {
	var found []string
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			found = append(found, hrefs(item)...)
		}
	case map[string]any:
		for member, value := range v {
			if text, ok := value.(string); ok && member == "href" {
				found = append(found, text)
			}
			found = append(found, hrefs(value)...)
		}
	}
	return found
}
