package webfeed

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"orgops/shared/base/fault"
)

// declaration finds the character set in an XML declaration.
var declaration = regexp.MustCompile(`^\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"'>]{1,40})["']`)

// maxDeclaration limits how many bytes of a document are searched for its declaration.
const maxDeclaration = 1024

// decode returns a document in UTF-8, without byte order marks and white space at its beginning and without the characters that
// XML forbids. Bytes that are not of the character set become U+FFFD. Every later step reads these bytes and no others. They
// may have at most maxDocument bytes.
func decode(document []byte) ([]byte, error) {
	charset, err := charsetOf(document)
	if err != nil {
		return nil, err
	}
	decoder := transform.Chain(charset.NewDecoder(), runes.Remove(runes.Predicate(forbidden)))
	decoded := make([]byte, min(utf8.UTFMax*len(document), maxDocument+utf8.UTFMax))
	n, _, err := decoder.Transform(decoded, document, true)
	if errors.Is(err, transform.ErrShortDst) || n > maxDocument {
		return nil, errDecoded
	}
	return bytes.TrimLeft(decoded[:n], " \t\r\n\uFEFF"), err
}

// forbidden reports whether XML forbids a character. The decoder of XML fails at one, but many feeds have some.
func forbidden(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
}

// charsetOf returns the character set of a document, encoding.Nop for UTF-8. A byte order mark precedes the declaration. A
// declaration of UTF-16 that is readable in ASCII is wrong and has no effect.
func charsetOf(document []byte) (encoding.Encoding, error) {
	switch {
	case begins(document, "\xFF\xFE"), begins(document, "<\x00"):
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), nil
	case begins(document, "\xFE\xFF"), begins(document, "\x00<\x00"):
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), nil
	}
	found := declaration.FindSubmatch(document[:min(maxDeclaration, len(document))])
	if found == nil {
		return encoding.Nop, nil
	}
	charset, err := htmlindex.Get(string(found[1]))
	if err != nil {
		return nil, fault.Newf(fault.Unavailable, "the feed declares the character set %q, which is not known; serve it in UTF-8", found[1])
	}
	if name, _ := htmlindex.Name(charset); name == "utf-8" || strings.HasPrefix(name, "utf-16") {
		return encoding.Nop, nil
	}
	return charset, nil
}

func begins(document []byte, with string) bool { return bytes.HasPrefix(document, []byte(with)) }
