package token_test

import (
	"testing"

	"orgops/shared/identity/token"
	"orgops/shared/testkit/errtest"
)

// TestVerifier_Former accepts the tokens of the service's former address, and those of no other.
func TestVerifier_Former(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	at := func(issuer, former string) token.Config {
		c := p.config
		c.Issuer, c.Former = issuer, former
		return c
	}
	const own, generated = "https://api.example.com", "https://issuer.test"
	text := issue(t, p.signer)
	_, err := token.NewVerifier(at(own, generated), p.keys.Public()).Verify(text)
	errtest.Must(t, err)
	refused(t, token.NewVerifier(at(own, ""), p.keys.Public()), text)
	refused(t, token.NewVerifier(at(own, "https://other.test"), p.keys.Public()), text)
	refused(t, token.NewVerifier(at(own, ""), p.keys.Public()), issue(t, token.NewSigner(at("", ""), p.keys)))
	signer := token.NewSigner(at(own, generated), p.keys)
	refused(t, p.verifier, issue(t, signer)) // new tokens name the new address
}
