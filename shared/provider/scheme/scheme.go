// Package scheme verifies the signatures of webhooks. A Scheme describes how a provider signs, as data: schemes.json has one for each known
// provider, and a company can describe another.
package scheme

import (
	_ "embed" // schemes.json
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// The algorithms of a scheme.
const (
	SHA256  = "hmac-sha256"
	SHA1    = "hmac-sha1"
	SHA512  = "hmac-sha512"
	Ed25519 = "ed25519" // the secret is the provider's public key, in hexadecimal digits
	Token   = "token"   // the header holds the secret itself, and nothing is signed
)

// Scheme describes how a provider signs an arrival.
type Scheme struct {
	Title     string     `json:"title,omitempty"`
	Algorithm string     `json:"algorithm"`
	Object    string     `json:"object,omitempty"`    // a member of the body whose members stand for the headers; "": the headers count
	Header    string     `json:"header"`              // that holds the signatures
	Field     string     `json:"field,omitempty"`     // of the header, which is a list such as t=1,v1=abc; "": the header lists the signatures themselves
	Separator string     `json:"separator,omitempty"` // of fields and signatures; "": a comma
	Prefix    string     `json:"prefix,omitempty"`    // of each signature, such as sha256=
	Encoding  string     `json:"encoding,omitempty"`  // of a signature: hex or base64
	Key       string     `json:"key,omitempty"`       // form of the secret: "" for a text as it is, base64, hex, or whsec for base64 after whsec_
	Signed    string     `json:"signed,omitempty"`    // what is signed, with {body}, {time}, {id}, {method}, {url} and {form}
	ID        string     `json:"id,omitempty"`        // header of the arrival's id; it identifies the arrival if {id} is signed
	Time      *Time      `json:"time,omitempty"`      // nil: the time is not sent
	Handshake *Handshake `json:"handshake,omitempty"` // nil: the provider sends none
}

// Time says where the time of sending stands: in a header, in a field of the signatures' header, or in a member of the body.
type Time struct {
	Header    string `json:"header,omitempty"`
	Field     string `json:"field,omitempty"`
	Member    string `json:"member,omitempty"`
	Unit      string `json:"unit"`      // s and ms count from 1970; rfc3339
	Tolerance int    `json:"tolerance"` // seconds that it may be before or after the current time
}

// Handshake describes the request by which a provider tries the address. It is signed as every other.
type Handshake struct {
	Member string `json:"member"`         // of the body, which tells the handshake
	Value  string `json:"value"`          // of the member
	Echo   string `json:"echo,omitempty"` // the member whose text the answer repeats; "": the answer is 204
}

//go:embed schemes.json
var table []byte

// known reads the table when a scheme is asked for the first time.
var known = sync.OnceValue(func() map[string]Scheme { //nolint:gochecknoglobals // it never changes, and the table is read once
	all := map[string]Scheme{}
	if err := json.Unmarshal(table, &all); err != nil {
		panic("schemes.json: " + err.Error()) // a test reads it
	}
	return all
})

// Named returns a known scheme. ok is false for an unknown name.
func Named(name string) (s Scheme, ok bool) {
	s, ok = known()[name]
	return s, ok
}

// Names lists the known schemes, sorted.
func Names() []string {
	names := make([]string, 0, len(known()))
	for name := range known() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Signs reports whether Sign can make the headers of an arrival. Of an asymmetric scheme, only the provider can sign, and of a scheme
// whose signature stands in the body there are no headers.
func (s Scheme) Signs() bool { return s.Algorithm != Ed25519 && s.Object == "" }

// Covers reports whether the signature covers the body. A token covers nothing. A signature in the body covers its own members alone.
func (s Scheme) Covers() bool { return s.Algorithm != Token && s.Object == "" }

// separator returns what separates fields and signatures.
func (s Scheme) separator() string {
	if s.Separator == "" {
		return ","
	}
	return s.Separator
}

// read returns the time that a text says. ok is false if the text has another form.
func (t Time) read(text string) (at time.Time, ok bool) {
	if t.Unit == "rfc3339" {
		at, err := time.Parse(time.RFC3339, text)
		return at, err == nil
	}
	n, ok := digits(text)
	if t.Unit == "ms" {
		return time.UnixMilli(n), ok
	}
	return time.Unix(n, 0), ok
}

// text returns a time as the provider would send it.
func (t Time) text(at time.Time) string {
	switch t.Unit {
	case "rfc3339":
		return at.UTC().Format(time.RFC3339)
	case "ms":
		return number(at.UnixMilli())
	}
	return number(at.Unix())
}
