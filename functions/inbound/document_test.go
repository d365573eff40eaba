package inbound_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"
)

// TestReceive_Document lists the statuses that the operation answers: 403 for a suspended company, 409 for a disabled integration, and no 404, because
// what does not exist gets the answer of a bad signature.
func TestReceive_Document(t *testing.T) {
	t.Parallel()
	s := setup(t)
	op := s.Server.Document().Paths["/inbound/{companyId}/{provider}"].Post
	want := []string{"200", "202", "204", "400", "401", "403", "409", "413", "415", "422", "429", "500", "503", "default"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(op.Responses))); diff != "" {
		t.Errorf("statuses differ (-want +got):\n%s", diff)
	}
	var header *huma.Header
	if header = op.Responses["401"].Headers["WWW-Authenticate"]; header == nil {
		t.Fatal("the 401 shows no WWW-Authenticate, want one")
	}
	if header.Example != "Webhook-Signature" {
		t.Errorf("WWW-Authenticate of the 401 = %v, want Webhook-Signature", header.Example)
	}
}

// TestReceive_Challenge asks for a signature, not for a bearer token, which the operation does not take.
func TestReceive_Challenge(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	for _, provider := range []string{"webhook", "github", "unknown"} {
		refused := s.post("/inbound/"+s.A.ID+"/"+provider, upsert, "Authorization", "Bearer "+s.A.Token)
		refused.WantProblem(401, "unauthenticated")
		if got := refused.Header.Get("WWW-Authenticate"); got != "Webhook-Signature" {
			t.Errorf("%s: WWW-Authenticate = %q, want Webhook-Signature", provider, got)
		}
	}
}
