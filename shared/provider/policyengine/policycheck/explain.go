package policycheck

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/schema/resolved"
)

// explainSyntax says where a text is not Cedar, and what the parser expected there.
func explainSyntax(err error) string {
	message := strings.TrimPrefix(err.Error(), "parser error: ")
	message = strings.TrimPrefix(message, "parse error at ")
	place, ok := strings.CutPrefix(message, "<input>:")
	if !ok {
		return "line 1: " + message
	}
	line, rest, _ := strings.Cut(place, ":")
	end := strings.IndexAny(rest, ": ")
	if end < 0 {
		return "line 1: " + message
	}
	column, rest := rest[:end], strings.TrimSpace(rest[end:])
	if token, err := strconv.QuotedPrefix(rest); err == nil { // where the parser stands, which is behind what is wrong
		rest = rest[len(token):]
	}
	rest = strings.TrimSpace(strings.TrimPrefix(rest, ":"))
	if expected, ok := strings.CutPrefix(rest, "exact got "); ok {
		found, wanted, _ := strings.Cut(expected, " want ")
		if found == "" {
			found = "the end of the text"
		}
		rest = fmt.Sprintf("found %s; write %s there", strings.TrimSpace(found), wanted)
	}
	return fmt.Sprintf("line %s, column %s: %s", line, column, rest)
}

// explainType says on which line a policy uses what the schema does not have, and lists what it has.
func explainType(s *resolved.Schema, text, message string) string {
	parts := strings.Split(message, "`") // the names are at 1, 3, ...
	if strings.HasPrefix(message, "unable to find an applicable action") {
		return "line 1: no action has such a principal and such a resource; " + strings.Join(applications(s), "; ")
	}
	if len(parts) < 3 {
		return "line 1: " + message
	}
	line := lineOf(text, parts[1])
	switch {
	case strings.HasPrefix(message, "unrecognized action"):
		return fmt.Sprintf("line %d: %s; the actions are %s", line, message, listed(actions(s)))
	case strings.HasPrefix(message, "unrecognized entity type"):
		return fmt.Sprintf("line %d: %s; the entity types are %s", line, message, listed(kinds(s)))
	case strings.Contains(message, "` in context for "):
		return fmt.Sprintf("line %d: %s; the context has %s", line, message, listed(facts(s)))
	case strings.Contains(message, "` on entity type `") && len(parts) > 3:
		return fmt.Sprintf("line %d: %s; it has %s. For an attribute of other types, narrow the policy by is, or test the attribute with has",
			line, message, listed(attributes(s, cedar.EntityType(parts[3]))))
	}
	return fmt.Sprintf("line %d: %s", line, message)
}

// lineOf returns the line of the first use of a name, or 1.
func lineOf(text, name string) int {
	before, _, found := strings.Cut(text, name)
	if !found {
		return 1
	}
	return 1 + strings.Count(before, "\n")
}

func listed(names []string) string {
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func actions(s *resolved.Schema) []string {
	var names []string
	for uid := range s.Actions {
		names = append(names, uid.String())
	}
	return names
}

func kinds(s *resolved.Schema) []string {
	var names []string
	for name := range maps.Keys(s.Entities) {
		names = append(names, string(name))
	}
	return names
}

func attributes(s *resolved.Schema, kind cedar.EntityType) []string {
	var names []string
	for name := range s.Entities[kind].Shape {
		names = append(names, string(name))
	}
	return names
}

// facts lists the context's attributes, which are the same for every action.
func facts(s *resolved.Schema) []string {
	var names []string
	for _, a := range s.Actions {
		if a.AppliesTo == nil {
			continue
		}
		for name := range a.AppliesTo.Context {
			if !slices.Contains(names, string(name)) {
				names = append(names, string(name))
			}
		}
	}
	return names
}

// applications says for each action which principals ask for it and what it is about.
func applications(s *resolved.Schema) []string {
	var all []string
	for uid, a := range s.Actions {
		if a.AppliesTo != nil {
			all = append(all, fmt.Sprintf("%s: %v on %v", uid, a.AppliesTo.Principals, a.AppliesTo.Resources))
		}
	}
	slices.Sort(all)
	return all
}
