package webfeed

import (
	"bytes"
	"errors"
	"mime"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	utf16 "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"orgops/shared/base/fault"
	basetext "orgops/shared/base/text"
)

// declaration finds the character set in an XML declaration.
const declaration basetext.Pattern = `^\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"'>]{1,40})["']`

// maxDeclaration limits how many bytes of a document are searched for its declaration.
const maxDeclaration = 1024

// decode returns a document in UTF-8, without byte order marks and white space at its beginning and without the characters that
// XML forbids. Bytes that are not of the character set become U+FFFD in XML. JSON is in UTF-8 (RFC 8259 §8.1), unless its Content-Type
// names another set and it is not in UTF-8. Bytes that are not of UTF-8 stay in JSON, and the item with them is left out. Every later
// step reads these bytes and no others. They may have at most maxDocument bytes. decode uses the document's memory.
func decode(document []byte, contentType string) ([]byte, error) {
	charset, err := charsetOf(document, contentType)
	if err != nil {
		return nil, err
	}
	if inJSON := bytes.TrimLeft(document, " \t\r\n\uFEFF"); charset == encoding.Nop && begins(inJSON, "{") {
		return slices.DeleteFunc(inJSON, func(b byte) bool { return forbidden(rune(b)) }), nil
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

// charsetOf returns the character set of a document, encoding.Nop for UTF-8. A byte order mark goes before the Content-Type, and that
// before the declaration (RFC 7303 §3). A name that the document disproves has no effect: many servers say UTF-8 of every document, or
// ASCII, as they once had to. A document that should be in UTF-8, and has bytes beyond ASCII of which none is, is in windows-1252, as
// web browsers assume.
func charsetOf(document []byte, contentType string) (encoding.Encoding, error) {
	switch n := len(document); {
	case begins(document, "\uFEFF"):
		return encoding.Nop, nil
	case begins(document, "\xFF\xFE"), n > 3 && document[0] != 0 && document[1] == 0 && document[3] == 0:
		return utf16.UTF16(utf16.LittleEndian, utf16.IgnoreBOM), nil
	case begins(document, "\xFE\xFF"), n > 3 && document[0] == 0 && document[1] != 0 && document[2] == 0:
		return utf16.UTF16(utf16.BigEndian, utf16.IgnoreBOM), nil
	}
	said := ""
	if _, parameters, err := mime.ParseMediaType(contentType); err == nil {
		said = strings.Trim(parameters["charset"], "'")
	}
	charset, ok := named(said, document)
	switch inJSON := begins(bytes.TrimLeft(document, " \t\r\n"), "{"); {
	case inJSON && (!ok || utf8.Valid(document)):
		return encoding.Nop, nil
	case ok:
		return charset, nil
	}
	found := declaration.Regexp().FindSubmatch(document[:min(maxDeclaration, len(document))])
	if found == nil {
		return assumed(document), nil
	}
	if charset, ok = named(string(found[1]), document); ok {
		return charset, nil
	}
	if _, err := htmlindex.Get(string(found[1])); err != nil && !utf8.Valid(document) {
		return nil, fault.Newf(fault.Unavailable, "the feed declares the character set %q, which is not known; serve it in UTF-8", found[1])
	}
	return assumed(document), nil
}

// named returns the character set of a name, encoding.Nop for UTF-8. ok is false for an unknown name, and if the document
// disproves the name: UTF-16 of bytes that are readable in ASCII, UTF-8 of others or of those that shift between sets, and ASCII, in which a
// document is in UTF-8 too.
func named(name string, document []byte) (charset encoding.Encoding, ok bool) {
	charset, err := htmlindex.Get(name)
	if err != nil || strings.HasSuffix(strings.ToLower(name), "ascii") {
		return nil, false
	}
	if known, _ := htmlindex.Name(charset); known == "utf-8" || strings.HasPrefix(known, "utf-16") {
		return encoding.Nop, utf8.Valid(document) && !bytes.Contains(document, []byte("\x1B$"))
	}
	return charset, true
}

// assumed returns the character set of a document that names none but UTF-8.
func assumed(document []byte) encoding.Encoding {
	broken := false
	for len(document) > 0 {
		r, size := utf8.DecodeRune(document)
		if r >= utf8.RuneSelf && size > 1 {
			return encoding.Nop
		}
		broken = broken || r == utf8.RuneError
		document = document[size:]
	}
	if broken {
		return charmap.Windows1252
	}
	return encoding.Nop
}

// dropReferences returns a document without references to characters that XML forbids, such as &#8;. It uses the document's memory.
func dropReferences(document []byte) []byte {
	kept := document[:0]
	for {
		n := bytes.Index(document, []byte("&#"))
		if n < 0 {
			return append(kept, document...)
		}
		kept = append(kept, document[:n]...)
		document = document[n:]
		size := len("&#")
		if end := bytes.IndexByte(document[:min(maxReference, len(document))], ';'); end > 0 && refers(string(document[size:end])) {
			document = document[end+1:]
			continue
		}
		kept = append(kept, document[:size]...)
		document = document[size:]
	}
}

// maxReference limits the bytes of a reference to a character. Zeros in front of its number may make it long.
const maxReference = 32

// refers reports whether the number of a reference is that of a character that XML forbids.
func refers(number string) bool {
	base := 10
	if hex := strings.TrimLeft(number, "xX"); hex != number {
		number, base = hex, 16
	}
	n, err := strconv.ParseUint(number, base, 32)
	return err == nil && (n > unicode.MaxRune || n >= 0xD800 && n < 0xE000 || forbidden(rune(n)))
}

func begins(document []byte, with string) bool { return bytes.HasPrefix(document, []byte(with)) }
