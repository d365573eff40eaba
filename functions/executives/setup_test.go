package executives_test

import (
	"log/slog"
	"testing"
	"time"

	"orgops/functions/executives"
	"orgops/functions/operations"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/provider/catalog"
	"orgops/shared/provider/policyengine"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

// service serves the group on a real server and store. Its commits can be made to fail.
type service struct {
	*webtest.Harness
	t      testing.TB
	clock  *clocktest.Clock
	faulty *worktest.Store
}

func setup(t testing.TB) *service {
	t.Helper()
	return setupWith(t, nil)
}

// setupWith sets up with an engine, or with the service's own one if engine is nil.
func setupWith(t testing.TB, engine policy.Engine) *service {
	t.Helper()
	s := &service{Harness: webtest.New(t), t: t, clock: clocktest.At(time.Now().UTC().Truncate(time.Millisecond))}
	s.faulty = &worktest.Store{Store: s.Store}
	for _, name := range []string{"another-founder", "third-founder"} {
		u := user.User{ID: name, Email: name + "@acme.test", Role: user.Founder, State: user.Active, CreatedAt: s.clock.Now().Add(-time.Hour)}
		errtest.Must(t, s.company().Commit(t.Context(), s.company().Create(user.Key(u.ID), user.Entity, u).Quietly()))
	}
	s.serve(engine, false)
	return s
}

// serve mounts the groups on a new server. off leaves the Executive Runtime out.
func (s *service) serve(engine policy.Engine, off bool) {
	s.Server = web.New(web.Options{
		Title: "test", Verifier: s.Verifier, Vault: s.Vault, Logger: slog.New(slog.NewJSONHandler(s.Log, nil)), Now: s.clock.Now, Audit: webtest.Record,
		Tenant: func(companyID string) store.Company { return store.For(s.faulty, companyID) },
	})
	client := outbound.New(outbound.Options{})
	if engine == nil {
		engine = policyengine.New(s.clock.Now)
	}
	parts := boot.New(boot.Parts{
		Store: s.faulty, Vault: s.Vault, Connectors: catalog.All(client, s.clock.Now), Client: client, Engine: engine, Now: s.clock.Now,
		Logger: slog.New(slog.DiscardHandler), NoExecutives: off,
	})
	operations.Mount(s.API(), parts) // where a second user decides about what is pending
	if !off {
		executives.Mount(s.API(), parts)
	}
}

// at returns a path of the group for company A.
func (s *service) at(rest string) string { return "/companies/" + s.A.ID + "/executives" + rest }

// do sends a request of company A's founder.
func (s *service) do(method, rest string, body any, headers ...string) *webtest.Response {
	s.t.Helper()
	return s.Do(method, s.at(rest), s.A.Token, body, headers...)
}

func (s *service) company() store.Company { return store.For(s.Store, s.A.ID) }

// draft returns the request for an executive that founder A owns.
func (s *service) draft(actions ...executive.Action) executive.Draft {
	return executive.Draft{Name: "Chief of Staff", Role: "Keeps order", Owner: s.A.UserID, Actions: append([]executive.Action{}, actions...), QuotaPerDay: 1000}
}

// certified configures and certifies an executive, and returns the path of its actions.
func (s *service) certified(d executive.Draft) (actions string) {
	s.t.Helper()
	path := "/" + executive.IDOf(d.Name)
	s.do("POST", "", d).Want(201)
	var report executives.ExecutiveReport
	s.do("POST", path+"/certification", nil).Want(200).JSON(&report)
	if report.State != executive.Certified {
		s.t.Fatalf("state = %s, want certified: %+v", report.State, report)
	}
	return path + "/actions"
}

// asked asks for an action with a key.
func (s *service) asked(path, key string, action executive.Action, input map[string]any) *webtest.Response {
	s.t.Helper()
	return s.do("POST", path, map[string]any{"action": action, "input": input}, "Idempotency-Key", key)
}

// all returns the stored items of a prefix.
func all[T any](s *service, prefix string) []T {
	s.t.Helper()
	items := []T{}
	q := store.Query{Prefix: prefix}
	for {
		page, err := s.company().Query(s.t.Context(), q)
		errtest.Must(s.t, err)
		for _, item := range page.Items {
			var v T
			errtest.Must(s.t, item.Decode(&v))
			items = append(items, v)
		}
		if q.After = page.Next; q.After == "" {
			return items
		}
	}
}

// entries lists the kinds of the timeline's entries, oldest first.
func (s *service) entries() []timeline.Kind {
	s.t.Helper()
	kinds := []timeline.Kind{}
	for _, e := range all[timeline.Entry](s, timeline.Prefix) {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func (s *service) decisions() []policy.Decision { return all[policy.Decision](s, policy.Prefix) }

func TestGuard(t *testing.T) {
	t.Parallel()
	webtest.GuardAll(t, setup(t).Harness)
}
