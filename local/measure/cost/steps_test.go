package main

import (
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/web"
)

// TestSteps checks that everything costs what the table says. An extra request, a larger item or an operation without a row
// fails it. With -update it writes the rows, with -v it prints the table.
func TestSteps(t *testing.T) {
	w := newWorld(t)
	asked, worked, used := requests(), workers(), rights{}
	w.addReads(asked)
	function := w.functions()
	all := append(steps(), w.unstated()...)
	for n, s := range all {
		var got units
		switch {
		case asked[s.name] != nil:
			request, server := asked[s.name](w), w.server()
			got = w.measure(func() { w.do(server, request, nil) })
		case worked[s.name] != nil:
			got = w.measure(worked[s.name](w))
		default:
			t.Errorf("%s: no function measures it", s.name)
			continue
		}
		if all[n].units = got; *update {
			continue
		}
		if diff := cmp.Diff(s.units, got, cmp.AllowUnexported(units{})); diff != "" {
			t.Errorf("%s (-table +measured):\n%s", s.name, diff)
		}
		for _, r := range w.asked {
			used.add(function(s.name), needed(t, r)...)
		}
	}
	if *update {
		rewrite(t, all)
		return
	}
	if stated := len(asked) + len(worked); stated != len(steps()) {
		t.Errorf("%d steps are measured, %d are in the table", stated, len(steps()))
	}
	w.checkRequests(t)
	w.checkOperations(t)
	w.checkRights(t, used)
	w.checkTries(t)
	t.Logf("\n%s", table())
}

// unstated returns a step for each registered operation that has none.
func (w *world) unstated() (missing []step) {
	for _, op := range web.OperationsOf(w.server().API().OpenAPI()) {
		if !slices.ContainsFunc(steps(), func(s step) bool { return s.name == op.OperationID }) {
			missing = append(missing, step{name: op.OperationID})
		}
	}
	return missing
}

// rewrite writes the rows of steps into steps.go, a new one after those of the operations.
func rewrite(t *testing.T, all []step) {
	t.Helper()
	const file, first = "steps.go", "\t\t{\"start of a process that verifies tokens\","
	source, err := os.ReadFile(file)
	errtest.Must(t, err)
	text := string(source)
	for _, s := range all {
		row := fmt.Sprintf("\t\t{%q, units{%s}},\n", s.name, s.units)
		begin, _, _ := strings.Cut(row, " units{")
		before, old, there := strings.Cut(text, begin)
		if _, rest, ok := strings.Cut(old, "\n"); there && ok {
			text = before + row + rest
			continue
		}
		before, after, _ := strings.Cut(text, first)
		text = before + row + first + after
	}
	errtest.Must(t, os.WriteFile(file, []byte(text), 0o600))
}

// String returns what is not zero, as Go writes it.
func (u units) String() string {
	var parts []string
	v := reflect.ValueOf(u)
	for n := range v.NumField() {
		if !v.Field(n).IsZero() {
			parts = append(parts, fmt.Sprintf("%s: %v", v.Type().Field(n).Name, v.Field(n)))
		}
	}
	return strings.Join(parts, ", ")
}

// checkTries checks that a retry after a lost answer counts once.
func (w *world) checkTries(t *testing.T) {
	server := w.server()
	list := func() { w.do(server, ask{method: http.MethodGet, path: "/memory"}, nil) }
	want := w.measure(list)
	w.tables.Play(awstest.Step{Operation: "Query", Status: http.StatusInternalServerError})
	if diff := cmp.Diff(want, w.measure(list), cmp.AllowUnexported(units{})); diff != "" {
		t.Errorf("memories requested again (-table +measured):\n%s", diff)
	}
}

// checkRequests checks that all requests to DynamoDB were gets, queries and writes by key.
func (w *world) checkRequests(t *testing.T) {
	known := []string{"GetItem", "BatchGetItem", "Query", "PutItem", "DeleteItem", "TransactWriteItems", "CreateTable", "DescribeTable"}
	seen := map[string]int{}
	for _, r := range w.tables.Asked() {
		if seen[r.Operation]++; !slices.Contains(known, r.Operation) {
			t.Errorf("unexpected request to DynamoDB, %s: %s", r.Operation, r.Body)
		}
	}
	for _, operation := range []string{"Query", "TransactWriteItems"} {
		if seen[operation] == 0 {
			t.Errorf("the check saw no %s: %v", operation, seen)
		}
	}
}

// checkOperations checks that every registered operation is in the table, and that the views that a founder opens often take
// at most one get and one query.
func (w *world) checkOperations(t *testing.T) {
	found := 0
	for path, item := range w.server().API().OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete, item.Patch} {
			if op == nil {
				continue
			}
			found++
			stated := slices.ContainsFunc(steps(), func(s step) bool { return s.name == op.OperationID })
			if !stated {
				t.Errorf("%s %s (%s) has no line in the table of steps", op.Method, path, op.OperationID)
			}
			if op.Method == "GET" && (strings.Contains(path, "/mission-control/") || strings.Contains(path, "/intelligence/")) {
				u := costOf(op.OperationID)
				if u.queries > 1 {
					t.Errorf("%s: %d queries, want 1 at most", op.OperationID, u.queries)
				}
				if got, want := [...]int{u.gets, u.trips()}, [...]int{1, 1 + u.queries}; got != want {
					t.Errorf("%s: gets and round trips = %v, want %v: %+v", op.OperationID, got, want, u)
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("%d operations were found, want at least 30", found)
	}
}

// trips counts the round trips to DynamoDB.
func (u units) trips() int { return u.gets + u.queries + u.puts + u.deletes + u.transactions }
