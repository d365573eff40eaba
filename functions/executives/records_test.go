package executives_test

import (
	"testing"

	"orgops/shared/base/id"
	"orgops/shared/domain/executive"
)

// TestActions_Unknown answers 404 for the actions of an executive that never was, and lists those of a configured one.
func TestActions_Unknown(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.do("GET", "/"+id.New()+"/actions", nil).WantProblem(404, "not-found")
	s.do("GET", "/"+executive.IDOf("Nobody")+"/actions?state=done", nil).WantProblem(404, "not-found")
	d := s.draft(executive.TimelineNote)
	s.do("POST", "", d).Want(201)
	path := "/" + executive.IDOf(d.Name)
	s.do("GET", path+"/actions", nil).Want(200)
	s.do("GET", path+"/actions?state=denied", nil).Want(200)
}
