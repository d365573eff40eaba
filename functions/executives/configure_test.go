package executives_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/executives"
	"orgops/shared/domain/executive"
)

func TestConfigure(t *testing.T) {
	t.Parallel()
	s := setup(t)
	d := s.draft(executive.TimelineNote, executive.MemorySync)
	resp := s.do("POST", "", d).Want(201)
	var created, got executives.Executive
	resp.JSON(&created)
	want := executives.Executive{ID: executive.IDOf(d.Name), Draft: d, State: executive.Sandbox, Version: 1, CreatedAt: s.clock.Now(), UpdatedAt: s.clock.Now()}
	want.Actions = []executive.Action{executive.MemorySync, executive.TimelineNote}
	if diff := cmp.Diff(want, created); diff != "" {
		t.Errorf("created executive differs (-want +got):\n%s", diff)
	}
	if location := resp.Header.Get("Location"); location != s.at("/"+created.ID) {
		t.Errorf("Location = %q, want %q", location, s.at("/"+created.ID))
	}
	shown := s.do("GET", "/"+created.ID, nil).Want(200)
	shown.JSON(&got)
	if diff := cmp.Diff(created, got); diff != "" {
		t.Errorf("executive differs (-created +got):\n%s", diff)
	}
	etag := shown.Header.Get("ETag")
	s.do("GET", "/"+created.ID, nil, "If-None-Match", etag).Want(304)
	var list executives.ExecutiveList
	s.do("GET", "", nil).Want(200).JSON(&list)
	if diff := cmp.Diff([]executives.Executive{created}, list.Items); diff != "" {
		t.Errorf("list differs (-want +got):\n%s", diff)
	}
	// The same request changes nothing; another one needs the current ETag if it names one.
	if again := s.do("POST", "", d).Want(200).Header.Get("ETag"); again != etag {
		t.Errorf("ETag after the same request = %s, want %s", again, etag)
	}
	d.Role = "Keeps quiet"
	s.do("POST", "", d, "If-None-Match", "*").WantProblem(412, "already-exists")
	if kept := s.do("GET", "/"+created.ID, nil).Header.Get("ETag"); kept != etag {
		t.Errorf("ETag after a refused creation = %s, want %s", kept, etag)
	}
	s.do("POST", "", d, "If-Match", etag).Want(200)
	s.do("POST", "", d, "If-Match", etag).WantProblem(412, "stale")
	s.do("DELETE", "/"+created.ID, nil, "If-Match", etag).WantProblem(412, "stale")
	s.do("DELETE", "/"+created.ID, nil).Want(204)
	s.do("GET", "/"+created.ID, nil).WantProblem(404, "not-found")
	s.do("DELETE", "/"+created.ID, nil).WantProblem(404, "not-found")
	s.do("POST", "", d, "If-Match", etag).WantProblem(412, "stale")
}

func TestConfigure_Refused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	tests := []struct {
		body    string
		pointer string
	}{
		{`{"name":" a","role":"r","owner":"u","actions":[]}`, "/name"},
		{`{"name":"a","role":"r\u0007","owner":"u","actions":[]}`, "/role"},
		{`{"name":"a","role":"r","owner":"a b","actions":[]}`, "/owner"},
		{`{"name":"a","role":"r","owner":"u","actions":["erase"]}`, "/actions/0"},
		{`{"name":"a","role":"r","owner":"u","actions":["goal.note","goal.note"]}`, "/actions"},
		{`{"name":"a","role":"r","owner":"u","actions":[],"quotaPerDay":1001}`, "/quotaPerDay"},
		{`{"name":"a","role":"r","owner":"u","actions":[],"state":"certified"}`, "/state"},
		{`{"role":"r","owner":"u","actions":[]}`, ""},
	}
	for _, tt := range tests {
		problem := s.do("POST", "", tt.body).WantProblem(422, "invalid")
		if len(problem.Errors) != 1 {
			t.Errorf("%s: errors = %+v, want one", tt.body, problem.Errors)
			continue
		}
		if got := problem.Errors[0].Pointer; tt.pointer != "" && got != tt.pointer {
			t.Errorf("%s: pointer = %q, want %q", tt.body, got, tt.pointer)
		}
	}
}

// Another company neither sees an executive nor changes it.
func TestConfigure_Isolation(t *testing.T) {
	t.Parallel()
	s := setup(t)
	d := s.draft(executive.TimelineNote)
	s.do("POST", "", d).Want(201)
	other := func(rest string) string { return "/companies/" + s.B.ID + "/executives" + rest }
	var list executives.ExecutiveList
	s.Do("GET", other(""), s.B.Token, nil).Want(200).JSON(&list)
	if len(list.Items) != 0 {
		t.Errorf("another company has %+v, want nothing", list.Items)
	}
	s.Do("GET", other("/"+executive.IDOf(d.Name)), s.B.Token, nil).WantProblem(404, "not-found")
	s.Do("DELETE", other("/"+executive.IDOf(d.Name)), s.B.Token, nil).WantProblem(404, "not-found")
}

func TestConfigure_Limit(t *testing.T) {
	t.Parallel()
	s := setup(t)
	d := s.draft()
	for n := range executive.MaxPerCompany {
		d.Name = "executive " + string(rune('A'+n))
		s.do("POST", "", d).Want(201)
	}
	d.Name = "one more"
	s.do("POST", "", d).WantProblem(409, "conflict")
}

// TestConfigure_LimitAtOnce holds to the limit when the requests come at once.
func TestConfigure_LimitAtOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	statuses := make([]int, executive.MaxPerCompany+15)
	var wg sync.WaitGroup
	for n := range statuses {
		d := s.draft()
		d.Name = fmt.Sprintf("executive %d", n)
		wg.Go(func() { statuses[n] = s.do("POST", "", d).Status })
	}
	wg.Wait()
	counts := map[int]int{}
	for _, status := range statuses {
		counts[status]++
	}
	if diff := cmp.Diff(map[int]int{201: executive.MaxPerCompany, 409: 15}, counts); diff != "" {
		t.Errorf("statuses differ (-want +got):\n%s", diff)
	}
}

// The schema holds to the limit that the documents name.
func TestConfigure_Quota(t *testing.T) {
	t.Parallel()
	s := setup(t)
	d := s.draft(executive.TimelineNote)
	d.QuotaPerDay = executive.MaxQuota + 1
	s.do("POST", "", d).WantProblem(422, "invalid")
	d.QuotaPerDay = executive.MaxQuota
	s.do("POST", "", d).Want(201)
	d.Name, d.QuotaPerDay = "without a quota", 0
	var made struct{ QuotaPerDay int }
	s.do("POST", "", d).Want(201).JSON(&made)
	if made.QuotaPerDay != executive.DefaultQuota {
		t.Errorf("quota = %d without one in the request, want the default, %d", made.QuotaPerDay, executive.DefaultQuota)
	}
	s.do("POST", "", map[string]any{"name": "none", "role": "r", "owner": s.A.UserID, "actions": []string{}, "quotaPerDay": 0}).WantProblem(422, "invalid")
}
