package policycheck

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema/resolved"

	"orgops/shared/domain/policy"
	"orgops/shared/provider/egress"
)

// host names the entity type of a host.
const host = "Host"

// checkHosts refuses a host that is not in the form in which the policies are asked about it. A forbid of such a host would
// silently forbid nothing. The title of a host is its name, so checkHosts reads comparisons of the title in a policy about hosts alone.
func checkHosts(s *resolved.Schema, text string, p *cedar.Policy) []string {
	tree := (*ast.Policy)(p.AST())
	titled := aboutHosts(s, tree)
	var found []mention
	if uid, ok := scopeOf(tree.Resource); ok {
		found = append(found, byEntity(uid))
	}
	for _, c := range tree.Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(n ast.IsNode) bool {
			found = append(found, mentions(n, titled)...)
			return true
		})
	}
	var details []string
	for _, m := range found {
		if m.problem != "" {
			details = append(details, fmt.Sprintf("line %d: %s", lineOf(text, m.written), m.problem))
		}
	}
	return details
}

// mention is a place where a policy names a host.
type mention struct {
	written string // as the policy writes it
	problem string // what is wrong with it, or ""
}

// mentions returns where an expression itself names hosts, without the expressions inside of it.
func mentions(n ast.IsNode, titled bool) []mention {
	if v, ok := n.(ast.NodeValue); ok {
		if uid, ok := v.Value.(cedar.EntityUID); ok {
			return []mention{byEntity(uid)}
		}
	}
	if !titled {
		return nil
	}
	if like, ok := n.(ast.NodeTypeLike); ok && isTitle(like.Arg) {
		pattern := string(like.Value.MarshalCedar())
		return []mention{{pattern, checkPattern(pattern)}}
	}
	var found []mention
	for _, name := range titles(n) {
		found = append(found, mention{string(cedar.String(name).MarshalCedar()), checkName(name, "%q")})
	}
	return found
}

func byEntity(uid cedar.EntityUID) mention {
	if uid.Type != host {
		return mention{}
	}
	return mention{uid.String(), checkName(string(uid.ID), host+"::%q")}
}

// scopeOf returns the entity that a scope names, if there is one.
func scopeOf(scope ast.IsScopeNode) (cedar.EntityUID, bool) {
	switch scope := scope.(type) {
	case ast.ScopeTypeEq:
		return scope.Entity, true
	case ast.ScopeTypeIn:
		return scope.Entity, true
	case ast.ScopeTypeIsIn:
		return scope.Entity, true
	}
	return cedar.EntityUID{}, false
}

// aboutHosts reports whether the scope of a policy includes fetches from hosts and nothing else.
func aboutHosts(s *resolved.Schema, tree *ast.Policy) bool {
	found := false
	for uid, a := range s.Actions {
		if a.AppliesTo == nil || !covers(tree, a) {
			continue
		}
		if string(uid.ID) != policy.SyncFetch {
			return false
		}
		found = true
	}
	return found
}

// titles returns the texts with which an expression compares resource.title.
func titles(n ast.IsNode) []string {
	switch n := n.(type) {
	case ast.NodeTypeEquals:
		return compared(n.Left, n.Right)
	case ast.NodeTypeNotEquals:
		return compared(n.Left, n.Right)
	case ast.NodeTypeContains:
		set, ok := n.Left.(ast.NodeTypeSet)
		if !ok || !isTitle(n.Right) {
			return nil
		}
		return texts(set.Elements...)
	}
	return nil
}

func compared(a, b ast.IsNode) []string {
	if isTitle(a) {
		return texts(b)
	}
	if isTitle(b) {
		return texts(a)
	}
	return nil
}

func texts(nodes ...ast.IsNode) []string {
	var all []string
	for _, n := range nodes {
		if v, ok := n.(ast.NodeValue); ok {
			if text, ok := v.Value.(cedar.String); ok {
				all = append(all, string(text))
			}
		}
	}
	return all
}

func isTitle(n ast.IsNode) bool { return isAttribute(n, "resource", "title") }

// checkName says what is wrong with the name of a host, or returns "". The format shows a name as the policy writes it.
func checkName(name, format string) string {
	shown := fmt.Sprintf(format, name)
	if strings.Contains(name, "*") {
		return fmt.Sprintf("%s is no host, because only like has wildcards; write resource is Host, and when { resource.title like %q }", shown, strings.ToLower(name))
	}
	if _, err := egress.Normalize(name); err != nil {
		return shown + " matches no host, because hosts are compared in their ASCII form; write it in that form (xn--…)"
	}
	switch right := meant(name); right {
	case "":
		return shown + ` is no host; write the name or the address alone, such as "api.github.com"`
	case name:
		return ""
	default:
		return fmt.Sprintf("%s matches no host, because hosts are compared in their ASCII form, in lower case, without a port and without a dot at the end; write %s",
			shown, fmt.Sprintf(format, right))
	}
}

// meant returns the host that a policy means in the form that is compared, or "" if the text names no host.
func meant(text string) string {
	if name, err := egress.Normalize(text); err == nil && isAddress(name) {
		return name
	}
	if !strings.Contains(text, "//") {
		text = "//" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	name, err := egress.Normalize(u.Hostname())
	if err != nil {
		return ""
	}
	return name
}

func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

// checkPattern says what is wrong with a quoted pattern for names of hosts, or returns "". Part of a label has no ASCII form, so
// a pattern with other letters gets no proposal.
func checkPattern(pattern string) string {
	if _, err := egress.Normalize(pattern); err != nil {
		return pattern + " matches no host, because hosts are compared in their ASCII form; write the labels in that form (xn--…)"
	}
	right := strings.ToLower(pattern)
	if right = strings.TrimRight(strings.TrimSuffix(right, `"`), ".") + `"`; right == pattern {
		return ""
	}
	return pattern + " matches no host, because hosts are compared in lower case, without a dot at the end; write " + right
}
