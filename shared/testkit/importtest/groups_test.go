package importtest_test

import (
	"path"
	"slices"
	"strings"
)

// group describes a folder of packages: one under shared/, or a folder of the top level.
type group struct {
	name  string
	may   []string // the groups that it may import directly; it may also import what those may
	holds string   // its content, for the drawing
}

// groups lists which group may import which, the lowest first. A group names only groups in the rows above its own, so
// there is no cycle. The drawing in ARCHITECTURE.md is made from this table.
func groups() []group {
	return []group{
		{"base", nil, "errors, ids, waiting, files, AWS access, metrics"},
		{"storage", []string{"base"}, "store, queue, vault: contracts and drivers"},
		{"identity", []string{"base"}, "tokens, passwords, usage keys"},
		{"domain", []string{"storage", "identity"}, "the nouns, their rules and keys"},
		{"web", []string{"storage", "identity"}, "HTTP API: guard, problems, OpenAPI"},
		{"insight", []string{"domain"}, "the context and what follows from it"},
		{"webhook", []string{"domain"}, "signing, sending, endpoint health"},
		{"provider", []string{"webhook"}, "connectors, certification, intake"},
		{"run", []string{"provider", "web"}, "settings, wiring, Lambda adapters"},
		{"functions", []string{"run", "insight"}, "one folder a Lambda"},
		{"infra", []string{"functions"}, "the CDK app"},
		{"local", []string{"functions"}, "the service in one process, and its tools"},
		{"testkit", []string{"webhook", "web"}, "what only tests import"},
	}
}

// shown returns the groups of the drawing. It leaves out testkit, because every test may import it.
func shown() []group {
	return slices.DeleteFunc(groups(), func(g group) bool { return g.name == "testkit" })
}

// groupOf returns the group of a package, from its folder. A conformance suite belongs to testkit, although it is in the
// folder of its contract. A suite of local belongs to local, because it runs the process.
func groupOf(pkg string) string {
	parts := strings.Split(pkg, "/")
	if isSuite(pkg) && parts[0] != "local" {
		return "testkit"
	}
	if parts[0] == "shared" && len(parts) > 1 {
		return parts[1]
	}
	return parts[0]
}

// mayImport lists the groups that a group may import: its own, those it names, and what they may import.
func mayImport(name string) []string {
	all := []string{name}
	for _, g := range groups() {
		if g.name != name {
			continue
		}
		for _, next := range g.may {
			all = append(all, mayImport(next)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// isSuite reports whether a package is for tests only.
func isSuite(pkg string) bool { return strings.HasSuffix(path.Base(pkg), "test") }
