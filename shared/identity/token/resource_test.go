package token_test

import (
	"testing"

	"orgops/shared/base/fault"
	"orgops/shared/identity/token"
	"orgops/shared/testkit/errtest"
)

// TestVerifier_Verify_Resource checks that a token for one resource is good there alone, also once it is in the cache.
func TestVerifier_Verify_Resource(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	mcp, other := token.MCPResource("https://orgops.test", "c1"), token.MCPResource("https://orgops.test", "c2")
	if want := "https://orgops.test/companies/c1/mcp"; mcp != want {
		t.Fatalf("resource = %s, want %s", mcp, want)
	}
	if got, want := token.MCPMetadata("https://orgops.test", "c1"), "https://orgops.test/.well-known/oauth-protected-resource/companies/c1/mcp"; got != want {
		t.Errorf("metadata = %s, want %s", got, want)
	}
	claims := genuine
	claims.Resource = mcp
	text, err := p.signer.Issue(claims)
	errtest.Must(t, err)
	refused(t, p.verifier, text)
	for range 2 { // verified, then cached
		got, err := p.verifier.Verify(text, other, mcp)
		errtest.Must(t, err)
		if got.Resource != mcp {
			t.Errorf("resource = %q, want %q", got.Resource, mcp)
		}
		refused(t, p.verifier, text)
		if _, err := p.verifier.Verify(text, other); fault.KindOf(err) != fault.Unauthenticated {
			t.Errorf("at another resource: error %v, want %s", err, fault.Unauthenticated)
		}
	}
	if _, err := p.verifier.Verify(issue(t, p.signer), mcp); err != nil {
		t.Error("the resource refuses a token of the API:", err)
	}
}
