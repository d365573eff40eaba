package simulate_test

import (
	"bytes"
	"strings"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/timeline"
)

// effect says which entity a request writes, and how many items of it: 0 for any number, because a repeat may write again.
type effect struct {
	entity string
	items  int
}

func one(entity string) effect  { return effect{entity, 1} }
func two(entity string) effect  { return effect{entity, 2} }
func some(entity string) effect { return effect{entity, 0} }

// written counts how often a mark was written: by entity, the images that have it and whose item did not have it before.
func (w *world) written(company, mark string) map[string]int {
	n := map[string]int{}
	for _, r := range w.table.Stream().Records(0) {
		if r.New == nil || r.New["gone"] != "" || r.New["pk"] != "C#"+company || !strings.Contains(r.New["body"], mark) {
			continue
		}
		if r.Old == nil || !strings.Contains(r.Old["body"], mark) {
			n[r.New["entity"]]++
		}
	}
	return n
}

// checkWishes checks that a request that was answered 2xx took effect, that a refused one took none, and that one without an
// answer took all of its effect or none.
func (w *world) checkWishes() {
	for _, v := range w.wishes {
		if v.mark == "" {
			continue
		}
		of := v.of
		if of == "" {
			of = v.company
		}
		n := w.written(of, v.mark)
		for _, e := range v.writes {
			is, first := n[e.entity], n[v.writes[0].entity]
			switch {
			case is == 0 && v.succeeded():
				w.violated("effects", "%s %s of %s was answered %d, and wrote no %s", v.method, v.path, v.company, v.status, e.entity)
			case is > 0 && !v.succeeded() && !v.unsure:
				w.violated("effects", "%s %s of %s was refused with %d, and wrote %s", v.method, v.path, v.company, v.status, e.entity)
			case is > 0 && is != e.items && e.items > 0:
				w.violated("effects", "%s %s of %s wrote %d of %s, want %d", v.method, v.path, v.company, is, e.entity, e.items)
			case (is > 0) != (first > 0):
				w.violated("effects", "%s %s of %s wrote a part: %d of %s, %d of %s", v.method, v.path, v.company, is, e.entity, first, v.writes[0].entity)
			}
		}
	}
}

// deciding is an approval that two users decide about at once.
type deciding struct {
	company, title, approval string
	wishes                   []*wish
}

// checkDecisions checks that an approval ended as it was answered, and that its action ran once if it was approved, and never
// otherwise.
func (w *world) checkDecisions() {
	for _, d := range w.decisions {
		var a approval.Approval
		if _, err := w.company(d.company).Get(w.t.Context(), approval.Key(d.approval), &a); err != nil {
			w.violated("approvals", "%s: %v", d.approval, err)
			continue
		}
		notes, want := 0, 0
		for _, item := range w.items(d.company, timeline.Prefix) {
			var e timeline.Entry
			if err := item.Decode(&e); err == nil && e.Kind == timeline.Note && e.Title == d.title {
				notes++
			}
		}
		if a.State == approval.Approved {
			want = 1
		}
		if notes != want {
			w.violated("approvals", "the action %q, which is %s, ran %d times", d.title, a.State, notes)
		}
		for _, v := range d.wishes {
			said := approval.Rejected
			if strings.HasSuffix(v.path, "/approve") {
				said = approval.Approved
			}
			if v.succeeded() && a.State != said {
				w.violated("approvals", "%s was answered %d, and %q is %s", v.path, v.status, d.title, a.State)
			}
		}
		if a.State == approval.Pending {
			w.violated("approvals", "two users have decided about %q, and it is pending", d.title)
		}
	}
}

// checkAudits checks that each write that succeeded has a record of who asked for it.
func (w *world) checkAudits() {
	recorded := map[string][]byte{}
	for _, company := range append([]string{elder}, w.companies...) {
		var all []byte
		for _, item := range w.items(company, "") {
			if item.Entity == audit.Entity {
				all = append(append(all, item.Body...), ' ')
			}
		}
		recorded[company] = all
	}
	for _, v := range w.wishes {
		if v.method == "GET" || !v.succeeded() || v.repeat || v.gone || strings.HasSuffix(v.path, "/actions") { // the action tells who asked for it
			continue
		}
		known := false
		for _, request := range v.tries {
			known = known || bytes.Contains(recorded[v.company], []byte(request))
		}
		if !known {
			w.violated("audited", "%s %s of %s was answered %d, and has no record", v.method, v.path, v.company, v.status)
		}
	}
}
