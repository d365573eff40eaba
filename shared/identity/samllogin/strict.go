package samllogin

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/beevik/etree"
	"github.com/crewjam/saml"
)

// The namespaces of SAML and of signatures.
const (
	protocolSpace  = "urn:oasis:names:tc:SAML:2.0:protocol"
	assertionSpace = "urn:oasis:names:tc:SAML:2.0:assertion"
	signatureSpace = "http://www.w3.org/2000/09/xmldsig#"
)

// Bounds of a document. They are checked in one pass, before anything builds a tree: parsers recurse, and the work of a signature
// grows with the elements times the namespaces that are in scope.
const (
	maxDepth      = 64
	maxAttributes = 64    // of an element, with its namespaces
	maxNamespaces = 64    // in scope at an element
	maxElements   = 1_000 // of a response; the verification of a signature stops there too
	maxDescribed  = 5_000 // elements of metadata
)

// measure counts what is bounded while a document is read.
type measure struct {
	most, elements, namespaces int
	declared                   []int // namespaces that each open element declares
}

func (m *measure) open(start xml.StartElement) error {
	if m.elements++; m.elements > m.most {
		return fmt.Errorf("has more than %d elements", m.most)
	}
	if len(start.Attr) > maxAttributes {
		return fmt.Errorf("has an element with more than %d attributes", maxAttributes)
	}
	declared := 0
	for _, a := range start.Attr {
		if a.Name.Space == "xmlns" || a.Name.Space == "" && a.Name.Local == "xmlns" {
			declared++
		}
	}
	if m.declared, m.namespaces = append(m.declared, declared), m.namespaces+declared; m.namespaces > maxNamespaces {
		return fmt.Errorf("declares more than %d namespaces around an element", maxNamespaces)
	}
	if len(m.declared) > maxDepth {
		return fmt.Errorf("is nested more than %d deep", maxDepth)
	}
	return nil
}

func (m *measure) close() {
	if last := len(m.declared) - 1; last >= 0 {
		m.namespaces -= m.declared[last]
		m.declared = m.declared[:last]
	}
}

// plain refuses what a provider's document does not need: more than most elements, a document type, whose entities can hide text,
// a processing instruction and, unless comments are allowed, a comment, which a signature does not cover and which splits a text in
// two.
func plain(document []byte, most int, comments bool) error {
	d := xml.NewDecoder(bytes.NewReader(document))
	m := measure{most: most}
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.New("is not well-formed XML")
		}
		switch t := token.(type) {
		case xml.Comment:
			if !comments {
				return errors.New("has a comment; send it without")
			}
		case xml.Directive:
			return errors.New("has a document type; send it without")
		case xml.ProcInst:
			if t.Target != "xml" {
				return errors.New("has a processing instruction; send it without")
			}
		case xml.StartElement:
			if err := m.open(t); err != nil {
				return err
			}
		case xml.EndElement:
			m.close()
		}
	}
}

// strict refuses a response that could be read in two ways, so that what was signed is what is read. It has one assertion,
// in one place, with a signature of its own over all of it, and no two elements have the same id. Wrapping a signed
// assertion into another document (XSW) breaks one of these rules.
func strict(response []byte) error {
	if err := plain(response, maxElements, false); err != nil {
		return fmt.Errorf("the response %w", err)
	}
	doc := etree.NewDocument()
	if err := doc.ReadFromBytes(response); err != nil || doc.Root() == nil {
		return errors.New("the response is not XML")
	}
	root := doc.Root()
	if !is(root, protocolSpace, "Response") {
		return errors.New("the document is no SAML response")
	}
	assertion, err := onlyAssertion(root)
	if err != nil {
		return err
	}
	if err := checkSignature(assertion); err != nil {
		return err
	}
	return complete(assertion)
}

func is(el *etree.Element, space, tag string) bool {
	return el.Tag == tag && el.NamespaceURI() == space
}

// onlyAssertion returns the assertion of a response, which has no other one in any namespace or depth.
func onlyAssertion(root *etree.Element) (*etree.Element, error) {
	var found []*etree.Element
	ids, signatures := map[string]bool{}, 0
	for _, el := range append([]*etree.Element{root}, root.FindElements(".//*")...) {
		switch el.Tag {
		case "Assertion":
			found = append(found, el)
		case "EncryptedAssertion":
			return nil, errors.New("the assertion is encrypted; this service offers no key for it")
		case "Signature":
			signatures++
		}
		for _, attribute := range el.Attr {
			if attribute.Key != "ID" && attribute.Key != "Id" && attribute.Key != "id" {
				continue
			}
			if ids[attribute.Value] {
				return nil, errors.New("two elements have the same id")
			}
			ids[attribute.Value] = true
		}
	}
	if len(found) != 1 || found[0].Parent() != root || !is(found[0], assertionSpace, "Assertion") {
		return nil, fmt.Errorf("the response has %d assertions, want one, directly in the response", len(found))
	}
	own := len(children(root, signatureSpace, "Signature")) + len(children(found[0], signatureSpace, "Signature"))
	if signatures != own {
		return nil, errors.New("a signature is neither the response's nor the assertion's")
	}
	return found[0], nil
}

func children(el *etree.Element, space, tag string) []*etree.Element {
	return slices.DeleteFunc(el.ChildElements(), func(child *etree.Element) bool { return !is(child, space, tag) })
}

// algorithms returns the signature and digest algorithms that are accepted. SHA-1 and HMAC are not among them.
func algorithms() []string {
	return []string{
		"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", "http://www.w3.org/2001/04/xmldsig-more#rsa-sha384", "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512",
		"http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256", "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384", "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512",
		"http://www.w3.org/2001/04/xmlenc#sha256", "http://www.w3.org/2001/04/xmldsig-more#sha384", "http://www.w3.org/2001/04/xmlenc#sha512",
	}
}

// checkSignature refuses an assertion without exactly one signature that refers to the assertion.
func checkSignature(assertion *etree.Element) error {
	signatures := children(assertion, signatureSpace, "Signature")
	if len(signatures) != 1 {
		return fmt.Errorf("the assertion has %d signatures, want one", len(signatures))
	}
	references := signatures[0].FindElements(".//Reference")
	id := assertion.SelectAttrValue("ID", "")
	if id == "" || len(references) != 1 || references[0].SelectAttrValue("URI", "") != "#"+id {
		return errors.New("the assertion's signature refers to something else")
	}
	for _, tag := range []string{"SignatureMethod", "DigestMethod"} {
		for _, el := range signatures[0].FindElements(".//" + tag) {
			if !slices.Contains(algorithms(), el.SelectAttrValue("Algorithm", "")) {
				return fmt.Errorf("the signature uses an algorithm that is not accepted as %s; use SHA-256", tag)
			}
		}
	}
	return nil
}

// complete refuses an assertion that leaves out what bounds its use: crewjam/saml checks only what is there.
func complete(el *etree.Element) error {
	text := etree.NewDocument()
	text.SetRoot(el.Copy())
	for _, attribute := range namespaces(el) { // those that an outer element declares
		if text.Root().SelectAttr(attribute.FullKey()) == nil {
			text.Root().CreateAttr(attribute.FullKey(), attribute.Value)
		}
	}
	raw, err := text.WriteToBytes()
	if err != nil {
		return errors.New("the assertion cannot be read")
	}
	var a saml.Assertion
	if err := xml.Unmarshal(raw, &a); err != nil {
		return errors.New("the assertion cannot be read")
	}
	switch {
	case a.ID == "" || a.Subject == nil || a.Subject.NameID == nil:
		return errors.New("the assertion names no subject")
	case a.Conditions == nil || a.Conditions.NotOnOrAfter.IsZero() || len(a.Conditions.AudienceRestrictions) == 0:
		return errors.New("the assertion has no audience or no end")
	case len(a.Subject.SubjectConfirmations) == 0:
		return errors.New("the assertion has no subject confirmation")
	}
	for _, confirmation := range a.Subject.SubjectConfirmations {
		if confirmation.Method != "urn:oasis:names:tc:SAML:2.0:cm:bearer" || confirmation.SubjectConfirmationData == nil {
			return errors.New("the assertion's subject confirmation is not that of a bearer")
		}
	}
	return nil
}

// namespaces returns the namespace declarations of the elements around el.
func namespaces(el *etree.Element) []etree.Attr {
	var out []etree.Attr
	for p := el.Parent(); p != nil; p = p.Parent() {
		for _, a := range p.Attr {
			if a.Space == "xmlns" || a.Space == "" && a.Key == "xmlns" {
				out = append(out, a)
			}
		}
	}
	return out
}
