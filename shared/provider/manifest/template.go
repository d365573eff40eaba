package manifest

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/webhook/outbound"
)

// variable matches the place of a variable in a text.
const variable text.Pattern = `\{([A-Za-z][A-Za-z0-9]*)\}`

// namesIn lists the variables of a text.
func namesIn(text string) (names []string) {
	for _, found := range variable.Regexp().FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	return names
}

// fill puts the values of variables into a text. ok is false if one of them is absent.
func fill(text string, values map[string]string, escape func(string) string) (filled string, ok bool) {
	ok = true
	return variable.Regexp().ReplaceAllStringFunc(text, func(place string) string {
		value, given := values[place[1:len(place)-1]]
		if !given || value == "" {
			ok = false
		}
		return escape(value)
	}), ok
}

func plain(value string) string { return value }

// address returns the address of a stream's first page, without the time of incremental runs.
func (m *Manifest) address(s *stream, values map[string]string) string {
	w := s.way(values)
	if len(m.Configuration) == 0 && w.Path == "" && len(w.Query) == 0 {
		return m.Base
	}
	address := m.base(values)
	path, _ := fill(w.Path, values, url.PathEscape)
	address += path
	for _, name := range w.sorted {
		if value, ok := fill(w.Query[name], values, plain); ok {
			address = with(address, name, value)
		}
	}
	return address
}

// CheckAddresses lists what is wrong with the addresses of the first requests, under the examples of the variables. A configuration of
// other values is checked by itself.
func (m *Manifest) CheckAddresses(client *outbound.Client) []fault.FieldError {
	values := map[string]string{}
	for name, v := range m.Configuration {
		values[name] = cmp.Or(v.Default, v.Example)
		if len(v.Enum) > 0 {
			values[name] = v.Enum[0]
		}
	}
	at := fault.Pointer("base")
	if names := namesIn(m.Base); len(names) > 0 {
		at = fault.Pointer("configuration", names[0])
	}
	if problems := client.CheckBase(at, m.base(values)); len(problems) > 0 {
		return problems
	}
	var all []fault.FieldError
	for n, s := range m.streams {
		address := m.address(s, values)
		for _, p := range client.CheckURL(fault.Pointer("streams", strconv.Itoa(n), "request", "path"), address) {
			p.Detail = "leads to " + address + ": " + p.Detail
			all = append(all, p)
		}
	}
	return all
}

// base returns the address that every request begins with. A value of the form url or host stands as it is.
func (m *Manifest) base(values map[string]string) string {
	base := variable.Regexp().ReplaceAllStringFunc(m.Base, func(place string) string {
		name := place[1 : len(place)-1]
		switch m.Configuration[name].Form {
		case formURL:
			return strings.TrimRight(values[name], "/")
		case formHost:
			return values[name]
		}
		return url.PathEscape(values[name])
	})
	return base
}

// body returns a copy of a body with the values of variables. It leaves out a member whose text names an absent one, and an object
// that has no member for that reason.
func body(v any, values map[string]string) (filled any, ok bool) {
	switch v := v.(type) {
	case string:
		return fill(v, values, plain)
	case []any:
		list := make([]any, 0, len(v))
		for _, item := range v {
			if filled, ok := body(item, values); ok {
				list = append(list, filled)
			}
		}
		return list, len(list) > 0 || len(v) == 0
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, member := range v {
			if filled, ok := body(member, values); ok {
				object[name] = filled
			}
		}
		return object, len(object) > 0 || len(v) == 0
	}
	return v, true
}

// put sets the value at a pointer of a body, and makes the objects on the way.
func put(object map[string]any, pointer string, value any) {
	tokens := Tokens(pointer)
	for n, token := range tokens {
		if n == len(tokens)-1 {
			object[token] = value
			return
		}
		below, ok := object[token].(map[string]any)
		if !ok {
			below = map[string]any{}
			object[token] = below
		}
		object = below
	}
}

// with sets a query parameter of an address. The rest of the query stays byte for byte: a server may read what Go does not, such
// as a semicolon.
func with(address, parameter, value string) string {
	address = without(address, parameter)
	separator := "&"
	if !strings.Contains(address, "?") {
		separator = "?"
	}
	return address + separator + url.QueryEscape(parameter) + "=" + url.QueryEscape(value)
}

// without removes a query parameter and the fragment of an address.
func without(address, parameter string) string {
	address, _, _ = strings.Cut(address, "#")
	path, query, _ := strings.Cut(address, "?")
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if decoded, err := url.QueryUnescape(name); part != "" && (err != nil || decoded != parameter) {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return path
	}
	return path + "?" + strings.Join(kept, "&")
}
