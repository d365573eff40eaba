package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/domain/integration"
)

// authority matches the scheme and the host at the beginning of an address.
const authority text.Pattern = `^(https?://[^/]*)`

// checking gathers the problems of a manifest that its schema cannot state.
type checking struct {
	Document
	problems []fault.FieldError
}

func (c *checking) refuse(applies bool, detail string, place ...string) {
	if applies {
		c.problems = append(c.problems, fault.FieldError{Pointer: fault.Pointer(place...), Detail: detail})
	}
}

func (d Document) check() []fault.FieldError {
	c := &checking{Document: d}
	c.learned()
	c.addresses()
	c.authentication()
	for _, name := range sortedKeys(d.Headers) {
		c.refuse(IsReserved(name) || strings.EqualFold(name, "authorization"), "is set by the service", "headers", name)
		c.variables(d.Headers[name], true, "headers", name)
	}
	names := map[string]bool{}
	for n, s := range d.Streams {
		at := strconv.Itoa(n)
		c.refuse(names[s.Name], "is the name of another stream; give each its own", "streams", at, "name")
		names[s.Name] = true
		c.below(n, s)
	}
	for name, v := range d.Configuration {
		c.refuse(name == "schedule" || name == "permissions" || name == "title" || name == "signingSecret" || name == "tables", "is a name that the service uses; choose another", "configuration", name)
		c.refuse(v.Optional && v.Default != "", "is never absent with a default; leave optional out", "configuration", name, "optional")
		_, err := regexp.Compile(v.Pattern)
		c.refuse(err != nil, "is no regular expression of RE2", "configuration", name, "pattern")
		c.refuse(v.Pattern != "" && v.Says == "", "is missing; say in words what the pattern allows", "configuration", name, "says")
		c.refuse(v.Pattern != "" && (len(v.Enum) > 0 || v.Form == formHost || v.Form == formURL), "belongs to the form text, without an enum", "configuration", name, "pattern")
		c.refuse(!v.Optional && v.Example == "" && len(v.Enum) == 0, "is missing; a variable that is not optional needs an example", "configuration", name, "example")
	}
	return c.problems
}

// learned checks the variables that answers tell, and makes them known to the checks of the requests. They may be absent.
func (c *checking) learned() {
	if len(c.Learned) == 0 {
		return
	}
	text := encoded(c.Streams) // they hold what JSON can
	all := map[string]Variable{}
	maps.Copy(all, c.Configuration)
	for _, name := range sortedKeys(c.Learned) {
		_, taken := all[name]
		c.refuse(taken, "is a variable of the configuration; choose another name", "learned", name)
		c.refuse(!slices.Contains(namesIn(string(text)), name), "stands nowhere in a request", "learned", name)
		all[name] = Variable{Optional: true}
	}
	c.Configuration = all
}

// addresses checks the base. A variable in the host must be a host, or one of a list: a company's value must not choose the origin
// unseen.
func (c *checking) addresses() {
	c.variables(c.Base, false, "base")
	for n, name := range namesIn(c.Base) {
		v, place := c.Configuration[name], "{"+name+"}"
		whole := n == 0 && strings.HasPrefix(c.Base, place)
		c.refuse(v.Form == formURL && !whole, "a variable of the form url stands at the beginning of the base", "base")
		c.refuse(strings.Contains(authority.Regexp().FindString(c.Base), place) && v.Form != formHost && len(v.Enum) == 0,
			"a variable in the host has the form host, or an enum", "base")
	}
	first := namesIn(c.Base)
	begins := len(first) > 0 && strings.HasPrefix(c.Base, "{"+first[0]+"}") && c.Configuration[first[0]].Form == formURL
	c.refuse(!begins && authority.Regexp().FindString(c.Base) == "", "must begin with https:// and a host, or with a variable of the form url", "base")
	c.refuse(strings.ContainsAny(c.Base, "?#"), "has no query and no fragment; put parameters into the request", "base")
}

func (c *checking) authentication() {
	if c.Auth == nil {
		return
	}
	named := c.Auth.Type == InHeader || c.Auth.Type == inQuery
	c.refuse(named && c.Auth.Name == "", "is needed for the types header and query", "auth", "name")
	c.refuse(!named && c.Auth.Name != "", "belongs to the types header and query", "auth", "name")
	c.refuse(c.Auth.Type == InHeader && IsReserved(c.Auth.Name), "is set by the service", "auth", "name")
	c.refuse(c.Auth.Type == Basic && c.Auth.Credential != "", "belongs to the other types", "auth", "credential")
	c.refuse(c.Auth.Credential == integration.AccessToken, "is the name of a connection's token; choose another", "auth", "credential")
	c.refuse(c.Auth.Type != InHeader && c.Auth.Prefix != "", "belongs to the type header", "auth", "prefix")
}

// variables checks that the configuration has the variables of a text, and that an address needs none that is optional.
func (c *checking) variables(text string, optional bool, place ...string) {
	for _, name := range namesIn(text) {
		v, known := c.Configuration[name]
		c.refuse(!known, fmt.Sprintf("names {%s}, which the configuration does not have", name), place...)
		c.refuse(known && v.Optional && !optional, fmt.Sprintf("needs {%s}, which must not be optional", name), place...)
	}
}

func (c *checking) stream(at string, s Stream) {
	r, posts := s.Request, s.Request.Method == "POST"
	c.part(Part{r.Path, r.Query, r.Body}, false, posts, "streams", at, "request")
	for n, p := range r.Either {
		place := []string{"streams", at, "request", "either", strconv.Itoa(n)}
		c.part(p, true, posts, place...)
		c.refuse(len(namesIn(string(encoded(p)))) == 0, "names no variable, so it is always added; put it into the request", place...)
	}
	c.paging(at, s, posts)
	if i := s.Incremental; i != nil {
		c.parameter(i.Parameter, i.In, posts, "streams", at, "incremental")
	}
	c.refuse((s.Item == nil) == (s.Mapping == nil), "a stream has either item or mapping", "streams", at)
	if i := s.Item; i != nil {
		c.refuse(i.Target != ToGoal && i.Progress != "", "belongs to the target goal", "streams", at, "item", "progress")
		c.refuse(i.Target != ToGoal && i.DueAt != "", "belongs to the target goal", "streams", at, "item", "dueAt")
	}
	for n, r := range s.rules() {
		_, once := r.With["once"]
		c.refuse(r.Action == integration.TimelineNote && !once, "is missing; without it every sync would make the note again",
			"streams", at, "mapping", "rules", strconv.Itoa(n), "with", "once")
	}
}

// part checks a part of a request. Its path may need a variable that is optional, if the part is left out without it.
func (c *checking) part(p Part, optional, posts bool, place ...string) {
	at := func(names ...string) []string { return append(slices.Clone(place), names...) }
	c.variables(p.Path, optional, at("path")...)
	c.refuse(strings.ContainsAny(p.Path, "?#"), "has no query and no fragment; put parameters into query", at("path")...)
	for _, name := range sortedKeys(p.Query) {
		c.variables(p.Query[name], true, at("query", name)...)
	}
	c.bodyVariables(p.Body, at("body")...)
	c.refuse(!posts && p.Body != nil, "belongs to the method POST", at("body")...)
}

// below checks a stream, and the parent if it has one.
func (c *checking) below(n int, s Stream) {
	at, p := strconv.Itoa(n), s.Parent
	if p == nil {
		c.stream(at, s)
		return
	}
	i := slices.IndexFunc(c.Streams[:n], func(other Stream) bool { return other.Name == p.Stream })
	c.refuse(i < 0, "must be the name of a stream before this one", "streams", at, "parent", "stream")
	c.refuse(i >= 0 && c.Streams[max(i, 0)].Parent != nil, "has a parent itself; one level is possible", "streams", at, "parent", "stream")
	c.refuse(i >= 0 && c.Streams[max(i, 0)].One, "has one record; a parent is a list", "streams", at, "parent", "stream")
	_, taken := c.Configuration[p.Variable]
	c.refuse(taken, "is a variable of the configuration; choose another name", "streams", at, "parent", "variable")
	text, _ := json.Marshal(s.Request) // a request holds what JSON can
	c.refuse(!slices.Contains(namesIn(string(text)), p.Variable), "stands nowhere in the request, so each parent would have the same records", "streams", at, "parent", "variable")
	configured := c.Configuration
	c.Configuration = maps.Clone(configured)
	if c.Configuration == nil {
		c.Configuration = map[string]Variable{}
	}
	c.Configuration[p.Variable] = Variable{}
	c.stream(at, s)
	c.Configuration = configured
}

// maxExact is the greatest integer up to which every JSON reader holds every integer exactly.
const maxExact = 1<<53 - 1

// bodyVariables checks the texts and the numbers of a body. The canonical form of a manifest would change a larger number.
func (c *checking) bodyVariables(v any, place ...string) {
	switch v := v.(type) {
	case json.Number:
		is, err := v.Float64()
		c.refuse(err != nil || math.Abs(is) > maxExact, "must be at most 9007199254740991, because larger numbers are not exact in JSON", place...)
	case string:
		c.variables(v, true, place...)
	case []any:
		for n, item := range v {
			c.bodyVariables(item, append(slices.Clone(place), strconv.Itoa(n))...)
		}
	case map[string]any:
		for name, member := range v {
			c.bodyVariables(member, append(slices.Clone(place), name)...)
		}
	}
}

// paging checks that a way to the next page has what it needs, and nothing else.
func (c *checking) paging(at string, s Stream, posts bool) {
	p, place := s.Paging, []string{"streams", at, "paging"}
	points := p.Type == PagedByCursor || p.Type == pagedByNext || p.Type == pagedByLastID
	counts := p.Type == pagedByNo || p.Type == PagedByOffset
	sends := counts || p.Type == PagedByCursor || p.Type == pagedByLastID
	field := func(name string) []string { return append(slices.Clone(place), name) }
	c.refuse(points && p.Pointer == "", "is needed for the types next, cursor and last-id", field("pointer")...)
	c.refuse(!points && p.Pointer != "", "belongs to the types next, cursor and last-id", field("pointer")...)
	c.refuse(!sends && p.Parameter != "", "belongs to the types cursor, last-id, page and offset", field("parameter")...)
	c.refuse(p.More != "" && p.Last != "", "says the same as more; give one of them", field("last")...)
	c.refuse(p.Type != pagedByNo && p.First != 0, "belongs to the type page", field("first")...)
	c.refuse(len(p.Stale) > 0 && p.Type != PagedByCursor, "belongs to the type cursor", field("stale")...)
	c.refuse(s.One && p.Type != "" && p.Type != once, "a stream of one record has no pages", field("type")...)
	if sends {
		c.parameter(p.Parameter, p.In, posts, place...)
	}
}

// parameter checks where a request carries a cursor, a number or a time.
func (c *checking) parameter(name, in string, posts bool, place ...string) {
	at := append(slices.Clone(place), "parameter")
	c.refuse(name == "", "is missing", at...)
	c.refuse(in == inBody && !posts, "body belongs to the method POST", append(slices.Clone(place), "in")...)
	c.refuse(in == inBody && name != "" && !strings.HasPrefix(name, "/"), "must be a JSON Pointer into the body, such as /start_cursor", at...)
}

func sortedKeys(texts map[string]string) []string { return slices.Sorted(maps.Keys(texts)) }
