package github

import (
	"encoding/json"
	"net/http"
	"strings"

	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
)

// The reasons to ignore an arrival that Locate gives.
const (
	anotherRepository = "it is about another repository than the configured one"
	reusedName        = "another repository has the configured name now; delete the integration and configure it again to follow that one"
)

// Locate implements connector.Placed. A repository is known by its id, which it keeps when it is renamed or transferred. Until a
// arrival has told the id, the configured name counts, or the former name in the notice of a rename. Several repositories are known by their
// names alone.
func (*Connector) Locate(config json.RawMessage, known integration.Place, header http.Header, payload any) connector.Location {
	if header.Get(headerEvent) == "ping" {
		return connector.Location{Outside: connector.Ping}
	}
	var c Config
	_ = json.Unmarshal(config, &c) // without a configuration, no repository is the configured one
	repository := member(payload, "repository")
	place := integration.Place{ID: number(member(repository, "id")), Name: textOf(member(repository, "full_name"))}
	named := strings.EqualFold(place.Name, c.Repository)
	switch {
	case place.Name == "":
		return connector.Location{} // the mapping decides
	case c.isSeveral():
		if c.has(place.Name) || c.has(formerName(payload, place.Name)) {
			return connector.Location{}
		}
	case place.ID == "":
		if named || strings.EqualFold(place.Name, known.Name) {
			return connector.Location{}
		}
	case place.ID == known.ID:
		return connector.Location{Place: place}
	case known.ID != "" && named:
		return connector.Location{Outside: reusedName}
	case known.ID == "" && (named || strings.EqualFold(formerName(payload, place.Name), c.Repository)):
		return connector.Location{Place: place}
	}
	return connector.Location{Outside: anotherRepository}
}

// formerName returns the name of a repository before the rename or transfer that an arrival tells, or "".
func formerName(payload any, name string) string {
	owner, repository, _ := strings.Cut(name, "/")
	changes := member(payload, "changes")
	if from := textOf(member(changes, "repository", "name", "from")); from != "" {
		return owner + "/" + from
	}
	for _, kind := range []string{"user", "organization"} {
		if from := textOf(member(changes, "owner", "from", kind, "login")); from != "" {
			return from + "/" + repository
		}
	}
	return ""
}

// member returns the value at a path of members, or nil.
func member(v any, path ...string) any {
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

func textOf(v any) string {
	s, _ := v.(string)
	return s
}

func number(v any) string {
	n, _ := v.(json.Number)
	return n.String()
}
