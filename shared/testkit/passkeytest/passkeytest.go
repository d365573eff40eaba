// Package passkeytest stands in for a browser with an authenticator.
package passkeytest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"orgops/shared/base/fault"
	"orgops/shared/identity/passkey"
	"orgops/shared/testkit/errtest"
)

// The flags of an authenticator's data (WebAuthn §6.1): the person was there, and a new key follows.
const (
	present  = 0x01
	attested = 0x40
)

// Passkey is a passkey on an authenticator, in a browser that shows a page of an origin.
type Passkey struct {
	Origin  string
	Counter uint32 // of the last signature; each counts one more
	RSA     int    // the bits of an RSA key, which signs nothing; 0: the key is on P-256

	t   *testing.T
	key *ecdsa.PrivateKey
	id  []byte
}

// New makes a passkey.
func New(t *testing.T, origin string) *Passkey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	errtest.Must(t, err)
	id := make([]byte, 16)
	rand.Read(id)
	return &Passkey{Origin: origin, t: t, key: key, id: id}
}

// Create answers navigator.credentials.create, as PublicKeyCredential.toJSON does.
func (p *Passkey) Create(options passkey.Creation) map[string]any {
	p.t.Helper()
	public, err := p.key.PublicKey.Bytes() // 4, x, y
	errtest.Must(p.t, err)
	var data bytes.Buffer
	data.Write(p.data(options.Party.ID, present|attested))
	data.Write(make([]byte, 16)) // of no make
	_ = binary.Write(&data, binary.BigEndian, uint16(len(p.id)))
	data.Write(p.id)
	if p.RSA > 0 {
		data.WriteString("\xa4\x01\x03\x03\x39\x01\x00\x20\x59") // a COSE key: RSA, RS256, n
		_ = binary.Write(&data, binary.BigEndian, uint16(p.RSA/8))
		data.Write(bytes.Repeat([]byte{0xff}, p.RSA/8))
		data.WriteString("\x21\x43\x01\x00\x01") // e
	} else {
		data.WriteString("\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20") // a COSE key: EC2, ES256, P-256, x
		data.Write(public[1:33])
		data.WriteString("\x22\x58\x20") // y
		data.Write(public[33:])
	}
	attestation := []byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData") // CBOR, up to the data
	if data.Len() < 256 {
		attestation = append(attestation, 0x58, byte(data.Len()))
	} else {
		attestation = binary.BigEndian.AppendUint16(append(attestation, 0x59), uint16(data.Len()))
	}
	return p.credential(map[string]any{
		"clientDataJSON": encode(p.client("webauthn.create", options.Challenge)), "attestationObject": encode(append(attestation, data.Bytes()...)), "transports": []string{"internal"},
	})
}

// Get answers navigator.credentials.get, as PublicKeyCredential.toJSON does.
func (p *Passkey) Get(options fault.PasskeyRequest) map[string]any {
	p.t.Helper()
	p.Counter++
	data, client := p.data(options.Party, present), p.client("webauthn.get", options.Challenge)
	digest := sha256.Sum256(client)
	digest = sha256.Sum256(append(bytes.Clone(data), digest[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, p.key, digest[:])
	errtest.Must(p.t, err)
	return p.credential(map[string]any{"clientDataJSON": encode(client), "authenticatorData": encode(data), "signature": encode(signature)})
}

func (p *Passkey) data(party string, flags byte) []byte {
	name := sha256.Sum256([]byte(party))
	return binary.BigEndian.AppendUint32(append(name[:], flags), p.Counter)
}

func (p *Passkey) client(kind, challenge string) []byte {
	text, err := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": p.Origin, "crossOrigin": false})
	errtest.Must(p.t, err)
	return text
}

func (p *Passkey) credential(response map[string]any) map[string]any {
	return map[string]any{
		"id": encode(p.id), "rawId": encode(p.id), "type": "public-key", "authenticatorAttachment": "platform", "clientExtensionResults": map[string]any{}, "response": response,
	}
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
