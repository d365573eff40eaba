package integrations_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
)

func repository(permissions ...string) map[string]any {
	body := map[string]any{"repository": "octo/app", "signingSecret": "as typed at github"}
	if permissions != nil {
		body["permissions"] = permissions
	}
	return body
}

// A company narrows the permissions of an integration. They stay narrow until it lists others, which ends the certification.
func TestConfigure_Permissions(t *testing.T) {
	t.Parallel()
	s := setup(t)
	configure := func(want int, state string, body map[string]any, ports ...string) {
		t.Helper()
		var i struct {
			State       string
			Permissions []string
		}
		s.do("POST", "/github", body).Want(want).JSON(&i)
		if diff := cmp.Diff(ports, i.Permissions); diff != "" {
			t.Errorf("permissions differ (-want +got):\n%s", diff)
		}
		if i.State != state {
			t.Errorf("state with permissions %q = %s, want %s", ports, i.State, state)
		}
	}
	certify := func() {
		t.Helper()
		i, version, err := integration.Load(t.Context(), s.company(), "github")
		if err != nil {
			t.Fatal(err)
		}
		now := s.clock.Now()
		i.State, i.Certification = integration.Certified, &integration.Certification{PassedAt: now, ExpiresAt: now.Add(integration.CertifiedFor)}
		if err := s.company().Commit(t.Context(), s.company().Replace(integration.Key("github"), integration.Entity, version, i)); err != nil {
			t.Fatal(err)
		}
	}
	const receive, goals, memories = "inbound.receive", "goal.update", "memory.upsert"
	configure(201, "sandbox", repository(goals, receive), receive, goals)
	certify()
	configure(200, "certified", repository(), receive, goals)
	configure(200, "certified", repository(receive, goals), receive, goals)
	configure(200, "sandbox", repository(receive, goals, memories), receive, memories, goals)
	certify()
	configure(200, "sandbox", repository(receive), receive)
}

func TestConfigure_PermissionsRefused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for name, tt := range map[string]struct {
		permissions any
		pointer     string
	}{
		"a port of another connector": {[]string{"inbound.receive", "event.deliver"}, "/permissions/1"},
		"an unknown port":             {[]string{"memory.delete"}, "/permissions/0"},
		"a port twice":                {[]string{"goal.update", "goal.update"}, "/permissions/1"},
		"null":                        {nil, "/permissions"},
		"not a list":                  {"goal.update", "/permissions"},
	} {
		body := repository()
		body["permissions"] = tt.permissions
		var problem struct{ Errors []struct{ Pointer string } }
		answer := s.do("POST", "/github", body)
		answer.WantProblem(422, "invalid")
		answer.JSON(&problem)
		if got := problem.Errors[0].Pointer; got != tt.pointer {
			t.Errorf("%s: pointer = %s, want %s", name, got, tt.pointer)
		}
	}
	s.do("GET", "/github", nil).WantProblem(404, "not-found")
}
