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
// XML forbids. Bytes that are not of the character set become U+FFFD in XML. JSON is in UTF-8 (RFC 8259 §8.1), so they stay in JSON, and
// the item with them is left out. Every later step reads these bytes and no others. They may have at most maxDocument bytes.
// decode uses the document's memory.
func decode(document []byte, contentType string) ([]byte, error) {
	if inJSON := bytes.TrimLeft(document, " \t\r\n\uFEFF"); begins(inJSON, "{") {
		return slices.DeleteFunc(inJSON, func(b byte) bool { return forbidden(rune(b)) }), nil
	}
	charset, err := charsetOf(document, contentType)
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

// charsetOf returns the character set of a document, encoding.Nop for UTF-8. A byte order mark goes before the Content-Type, and that
// before the declaration (RFC 7303 §3), unless it says UTF-8 of a document that is not: many servers say it of every document. A declaration of UTF-16 in a document that is readable
// in ASCII is wrong and has no effect. A document that should be in UTF-8, and has bytes beyond ASCII of which none is, is in
// windows-1252, as web browsers assume.
func charsetOf(document []byte, contentType string) (encoding.Encoding, error) {
	switch {
	case begins(document, "\uFEFF"):
		return encoding.Nop, nil
	case begins(document, "\xFF\xFE"), begins(document, "<\x00"):
		return utf16.UTF16(utf16.LittleEndian, utf16.IgnoreBOM), nil
	case begins(document, "\xFE\xFF"), begins(document, "\x00<\x00"):
		return utf16.UTF16(utf16.BigEndian, utf16.IgnoreBOM), nil
	}
	if _, parameters, err := mime.ParseMediaType(contentType); err == nil && parameters["charset"] != "" {
		charset, err := htmlindex.Get(strings.Trim(parameters["charset"], "'"))
		if err == nil && (readable(charset) != encoding.Nop || utf8.Valid(document)) {
			return readable(charset), nil
		}
	}
	found := declaration.Regexp().FindSubmatch(document[:min(maxDeclaration, len(document))])
	if found == nil {
		return assumed(document), nil
	}
	charset, err := htmlindex.Get(string(found[1]))
	if err != nil {
		return nil, fault.Newf(fault.Unavailable, "the feed declares the character set %q, which is not known; serve it in UTF-8", found[1])
	}
	if set := readable(charset); set != encoding.Nop {
		return set, nil
	}
	return assumed(document), nil
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

// readable returns encoding.Nop for a set in which the document could not have been read so far.
func readable(charset encoding.Encoding) encoding.Encoding {
	if name, _ := htmlindex.Name(charset); name == "utf-8" || strings.HasPrefix(name, "utf-16") {
		return encoding.Nop
	}
	return charset
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
