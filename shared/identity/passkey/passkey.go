// Package passkey registers passkeys and verifies what they sign (WebAuthn level 3). A passkey is a second factor here: a person proves a
// password first, so the browser need not verify the person again.
package passkey

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"

	"orgops/shared/identity/keysize"
)

// ErrCopied refuses a passkey whose counter went back: another device may hold a copy of its key.
var ErrCopied = errors.New("the passkey's counter went back")

// Key holds what the service keeps of a passkey. None of it is secret.
type Key struct {
	ID         []byte
	PublicKey  []byte // as a COSE key
	Counter    uint32 // of the last signature; 0: the passkey counts none
	Syncs      bool   // it may be on several devices of the person
	Transports []string
}

// Party is the service as the browser knows it (WebAuthn §4, relying party).
type Party struct {
	lib  *webauthn.WebAuthn
	name string
}

// NewParty returns the party for a service's address, and false if a browser makes no passkeys for it. Browsers make them for names
// alone, so a service on this machine is known as localhost.
func NewParty(address, name string) (Party, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return Party{}, false
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() {
		u.Host = strings.TrimSuffix("localhost:"+u.Port(), ":")
	}
	if u.Scheme != "https" && u.Hostname() != "localhost" {
		return Party{}, false
	}
	lib, err := webauthn.New(&webauthn.Config{RPID: u.Hostname(), RPDisplayName: name, RPOrigins: []string{u.Scheme + "://" + u.Host}})
	return Party{lib, name}, err == nil
}

// NewChallenge returns the challenge of one registration or login.
func NewChallenge() []byte {
	challenge := make([]byte, 32)
	rand.Read(challenge)
	return challenge
}

// algorithms returns those that a passkey may sign with, the best first.
func algorithms() []webauthncose.COSEAlgorithmIdentifier {
	return []webauthncose.COSEAlgorithmIdentifier{webauthncose.AlgEdDSA, webauthncose.AlgES256, webauthncose.AlgRS256}
}

// Request returns the options with which a browser asks for a signature of one of the keys.
func (p Party) Request(challenge []byte, keys []Key, kept time.Duration) Request {
	return Request{
		Challenge: encode(challenge), Party: p.lib.Config.RPID, Timeout: kept.Milliseconds(), Verification: string(protocol.VerificationPreferred), Allowed: described(keys),
	}
}

// Creation returns the options with which a browser makes a passkey with a handle, for an account. The keys are those that the person
// has already.
func (p Party) Creation(challenge []byte, handle, account string, keys []Key, kept time.Duration) Creation {
	c := Creation{
		Party: CreationParty{p.lib.Config.RPID, p.name}, User: CreationUser{encode([]byte(handle)), account, account}, Challenge: encode(challenge),
		Timeout: kept.Milliseconds(), Excluded: described(keys), Attestation: string(protocol.PreferNoAttestation),
		Selection: CreationSelection{string(protocol.ResidentKeyRequirementPreferred), string(protocol.VerificationPreferred)},
	}
	for _, a := range algorithms() {
		c.Algorithms = append(c.Algorithms, CreationAlgorithm{string(protocol.PublicKeyCredentialType), int(a)})
	}
	return c
}

// maxPublicKey limits a COSE key, in bytes: an RSA key of the greatest length, with the names of its members.
const maxPublicKey = keysize.MaxRSA/8 + 32

// Register returns the passkey that a browser has made for a challenge. ok is false for any other response, and for a key that is so long
// that each login would take much time.
func (p Party) Register(challenge []byte, handle string, response []byte) (k Key, ok bool) {
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return k, false
	}
	session := p.session(challenge, handle)
	for _, a := range algorithms() {
		session.CredParams = append(session.CredParams, protocol.CredentialParameter{Type: protocol.PublicKeyCredentialType, Algorithm: a})
	}
	c, err := p.lib.CreateCredential(owner{handle: handle}, session, parsed)
	if err != nil || len(c.PublicKey) > maxPublicKey {
		return k, false
	}
	k = Key{ID: c.ID, PublicKey: c.PublicKey, Counter: c.Authenticator.SignCount, Syncs: c.Flags.BackupEligible}
	for _, t := range c.Transport {
		k.Transports = append(k.Transports, string(t))
	}
	return k, true
}

// Verify returns the passkey with its new counter, if the response is its signature of a challenge. ok is false for any other response.
// A signature of a passkey that may be copied is ErrCopied.
func (p Party) Verify(challenge []byte, handle string, k Key, response []byte) (used Key, ok bool, err error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return k, false, nil //nolint:nilerr // the caller answers alike, so no reason is passed on
	}
	session := p.session(challenge, handle)
	session.AllowedCredentialIDs = [][]byte{k.ID}
	c, err := p.lib.ValidateLogin(owner{handle, []webauthn.Credential{{
		ID: k.ID, PublicKey: k.PublicKey, Flags: webauthn.CredentialFlags{BackupEligible: k.Syncs}, Authenticator: webauthn.Authenticator{SignCount: k.Counter},
	}}}, session, parsed)
	if err != nil {
		return k, false, nil //nolint:nilerr // see above
	}
	if c.Authenticator.CloneWarning {
		return k, false, ErrCopied
	}
	k.Counter = c.Authenticator.SignCount
	return k, true, nil
}

func (p Party) session(challenge []byte, handle string) webauthn.SessionData {
	return webauthn.SessionData{
		Challenge: encode(challenge), RelyingPartyID: p.lib.Config.RPID, UserID: []byte(handle), UserVerification: protocol.VerificationPreferred,
	}
}

// owner is the account of a passkey, as the library asks for it.
type owner struct {
	handle string
	keys   []webauthn.Credential
}

func (o owner) WebAuthnID() []byte                         { return []byte(o.handle) }
func (o owner) WebAuthnName() string                       { return o.handle }
func (o owner) WebAuthnDisplayName() string                { return o.handle }
func (o owner) WebAuthnCredentials() []webauthn.Credential { return o.keys }

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func described(keys []Key) []Descriptor {
	out := []Descriptor{}
	for _, k := range keys {
		out = append(out, Descriptor{Type: string(protocol.PublicKeyCredentialType), ID: encode(k.ID), Transports: k.Transports})
	}
	return out
}
