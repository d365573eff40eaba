package webfeed

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf16"
)

// hostile is a document that is made to be expensive. want is part of the refusal, or "" if the document may be read.
type hostile struct {
	name, head, unit, tail, want string
	encode                       func(string) []byte // nil: UTF-8
}

// document returns the document with its unit repeated until it has size bytes.
func (h hostile) document(size int) []byte {
	encode := h.encode
	if encode == nil {
		encode = func(s string) []byte { return []byte(s) }
	}
	head, unit, tail := encode(h.head), encode(h.unit), encode(h.tail)
	document := make([]byte, 0, max(size, len(head)+len(tail)))
	document = append(document, head...)
	document = append(document, bytes.Repeat(unit, max(0, size-len(head)-len(tail))/len(unit))...)
	return append(document, tail...)
}

func utf16be(s string) []byte {
	document := []byte{0xFE, 0xFF}
	for _, u := range utf16.Encode([]rune(s)) {
		document = append(document, byte(u>>8), byte(u))
	}
	return document
}

func utf16le(s string) []byte {
	var document []byte
	for _, u := range utf16.Encode([]rune(s)) {
		document = append(document, byte(u), byte(u>>8))
	}
	return document
}

// hostiles lists documents that have taken, or could take, much memory, time or stack.
func hostiles() []hostile {
	const (
		channel  = `<rss version="2.0" xmlns:a="urn:a" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>`
		end      = `</channel></rss>`
		atom     = `<feed xmlns="http://www.w3.org/2005/Atom">`
		jsonHead = `{"version":"https://jsonfeed.org/version/1.1","items":[`
		deep     = "nested too deep"
	)
	return []hostile{
		// Depth. Each document nests a million elements or lists, or more.
		{name: "nested elements", head: channel + "<item>", unit: "<a:b>", want: deep},
		{name: "nested elements that end", head: channel + "<item>" + strings.Repeat("<a:b>", 2_000), unit: "</a:b>", tail: "</item>" + end, want: deep},
		{name: "nested after a control character", head: channel + "\x01<item>", unit: "<a:b>", want: deep},
		{name: "nested short elements after a control character", head: channel + "\x01" + `<y xmlns="u">`, unit: "<a>", want: deep},
		{name: "nested after a control character in the root", head: "<rss\x01 version=\"2.0\"><channel>", unit: "<a:b>", want: deep},
		{name: "nested after a noncharacter", head: channel + "\uFFFF<item>", unit: "<a:b>", want: deep},
		{name: "nested after a byte that is not UTF-8", head: channel + "\x01\xff\x01<item>", unit: "<a:b>", want: deep},
		{name: "nested after a reference to a control character", head: channel + "&#1;<item>", unit: "<a:b>", want: deep},
		{name: "nested after another tag's end", head: channel + "</x><item>", unit: "<a:b>", want: deep},
		{name: "nested after a second declaration", head: channel + `<?xml encoding="utf-16be"?><item>`, unit: "<a:b>", want: deep},
		{name: "nested after a later version", head: `<?xml version="1.1"?>` + channel, unit: "<a:b>", want: deep},
		{name: "nested in Atom", head: atom + "<entry>", unit: `<x xmlns="u">`, want: deep},
		{name: "nested in XHTML", head: atom + `<entry><content type="xhtml">`, unit: "<div>", want: deep},
		{name: "nested in UTF-16", head: channel, unit: "<a:b>", encode: utf16le, want: deep},
		{name: "nested in declared UTF-16", head: `<?xml version="1.0" encoding="utf-16be"?>` + channel, unit: "\x00<\x00a\x00>", want: deep},
		{name: "nested lists", head: jsonHead + `{"x":`, unit: "[", want: deep},
		{name: "nested lists that end", head: jsonHead + `{"x":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}", unit: " ", tail: "]}", want: deep},
		{name: "nested objects", head: `{"version":`, unit: `{"version":`, want: deep},

		// Number.
		{name: "elements", head: channel, unit: "<a:b/>", tail: end, want: "too many elements"},
		{name: "elements after a control character", head: channel + "\x01", unit: "<a:b/>", tail: end, want: "too many elements"},
		{name: "comments", head: channel, unit: "<!---->", tail: end, want: "too many elements"},
		{name: "instructions", head: channel, unit: "<?a?>", tail: end, want: "too many elements"},
		{name: "declarations", head: "", unit: "<!a>", want: "too many elements"},
		{name: "empty sections", head: channel + "<item><title>", unit: "<![CDATA[]]>", tail: "</title></item>" + end},
		{name: "items", head: channel, unit: "<item/>", tail: end, want: "too many entries"},
		{name: "items after a control character", head: channel + "\x02", unit: "<item/>", tail: end, want: "too many entries"},
		{name: "entries", head: atom, unit: "<Entry/>", tail: "</feed>", want: "too many entries"},
		{name: "entries after a mark and a line", head: "\uFEFF\n\uFEFF\n" + atom, unit: "<entry/>", tail: "</feed>", want: "too many entries"},
		{name: "JSON objects", head: jsonHead + "{}", unit: ",{}", tail: "]}", want: "too many"},
		{name: "JSON objects after a mark and a line", head: "\uFEFF\n" + jsonHead + "{}", unit: ",{}", tail: "]}", want: "too many"},
		{name: "JSON nulls", head: jsonHead + "null", unit: ",null", tail: "]}", want: "too many"},
		{name: "JSON numbers", head: jsonHead + "1", unit: ",1", tail: "]}", want: "too many"},
		{name: "JSON lists", head: jsonHead + `{"tags":[""`, unit: `,""`, tail: "]}]}", want: "too many"},
		{name: "JSON names", head: `{"version":"","items":[]`, unit: `,"items":[]`, tail: "}", want: "too many"},

		// Attributes.
		{name: "attributes of a tag", head: channel + "<a:b ", unit: `a="" `, tail: "/>" + end, want: "attributes"},
		{name: "attributes without a space", head: channel + "<a:b ", unit: `a=""`, tail: "/>" + end, want: "attributes"},
		{name: "attributes without values", head: channel + "<a:b", unit: " a", tail: "/>" + end, want: "attributes"},
		{name: "attributes after a quoted bracket", head: channel + `<a:b x=">" `, unit: `a="" `, tail: "/>" + end, want: "attributes"},
		{name: "attributes without an end", head: channel + "<a:b ", unit: `a="" `, want: "attributes"},
		{name: "attributes of many tags", head: channel, unit: `<a:b c="" d="" e="" f="" g="" h="" i="" j="" k="" l=""/>`, tail: end, want: "too many attributes"},
		{name: "attributes after a control character", head: channel + "\x01", unit: `<a:b c="" d="" e="" f="" g="" h="" i="" j="" k="" l=""/>`, tail: end, want: "too many attributes"},
		{name: "attributes in UTF-16", head: channel + "<a:b ", unit: `a="" `, tail: "/>" + end, encode: utf16le, want: "attributes"},
		{name: "namespaces", head: channel, unit: `<b xmlns:c="u" xmlns:d="u" xmlns:e="u" xmlns:f="u"/>`, tail: end, want: "too many"},
		{name: "long attribute", head: channel + `<item><guid>1</guid><a:b c="`, unit: "x", tail: `"/></item>` + end},

		// Text.
		{name: "long title", head: channel + "<item><title>", unit: "x", tail: "</title></item>" + end},
		{name: "long section", head: channel + "<item><title>t</title><content:encoded><![CDATA[", unit: "x\n", tail: "]]></content:encoded></item>" + end},
		{name: "many sections", head: channel + "<item><description>", unit: "<![CDATA[" + strings.Repeat("x ", 500) + "]]>", tail: "</description></item>" + end},
		{name: "references", head: channel + "<item><title>", unit: "&amp;a", tail: "</title></item>" + end},
		{name: "ampersands", head: channel + "<item><title>", unit: "&a", tail: "</title></item>" + end},
		{name: "ampersands in XHTML", head: atom + `<entry><content type="xhtml"><div>`, unit: "&", tail: `</div></content></entry></feed>`},
		{name: "items with ampersands", head: channel, unit: "<item><title>" + strings.Repeat("&a", 4_000) + "</title></item>", tail: end},
		{name: "items with references", head: channel, unit: "<item><title>" + strings.Repeat("&amp;lt;", 1_000) + "</title></item>", tail: end},
		{name: "items with short lines", head: channel, unit: "<item><description>" + strings.Repeat("x\n", 4_000) + "</description></item>", tail: end},
		{name: "items with links", head: `<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://a/` + strings.Repeat("b/", 250) + `">`,
			unit: `<entry xml:base="c/"><id>1</id><link href="2"/><title>` + strings.Repeat("x", 7_000) + `</title></entry>`, tail: "</feed>"},
		{name: "items with many titles", head: channel, unit: "<item>" + strings.Repeat("<title>&lt;b>x</title>", 9) + strings.Repeat("x", 500) + "</item>", tail: end, want: "too many elements"},
		{name: "HTML tags", head: channel + "<item><description><![CDATA[", unit: "<br>", tail: "]]></description></item>" + end},
		{name: "HTML attributes", head: channel + "<item><description><![CDATA[<p", unit: " a", tail: "></p>]]></description></item>" + end},
		{name: "HTML tags without an end", head: channel + "<item><description><![CDATA[", unit: `<a b="`, tail: "]]></description></item>" + end},
		{name: "HTML scripts", head: channel + "<item><description><![CDATA[", unit: "<script>", tail: "]]></description></item>" + end},
		{name: "HTML comments", head: channel + "<item><description><![CDATA[", unit: "<!--", tail: "]]></description></item>" + end},
		{name: "long declaration", head: "<!DOCTYPE ", unit: "x", tail: ">" + channel + end},
		{name: "long instruction", head: "<?a ", unit: "x", tail: "?>" + channel + end, want: "an instruction of too many bytes"},
		{name: "long name", head: "<", unit: "a", tail: ">", want: "a name of too many bytes"},
		{name: "long end", head: channel + "</", unit: "a", tail: ">", want: "a name of too many bytes"},
		{name: "brackets", head: channel, unit: "<", want: "too many faults"},
		{name: "faults in texts", head: channel, unit: "<item><title>]]>" + strings.Repeat("x", 1_500) + "</title></item>", tail: end},
		{name: "faults in tags", head: channel, unit: "<item a=><title>" + strings.Repeat("x", 1_500) + "</title></item>", tail: end},
		{name: "faults in comments", head: channel, unit: "<!-- -- x -->", tail: end, want: "too many faults"},
		{name: "a fault in a comment without an end", head: channel, unit: "<!-- -- x", tail: end},
		{name: "quotes without an end", head: channel, unit: `<a b="`, tail: end, want: "too many faults"},
		{name: "quotes without an end in long tags", head: channel, unit: `<a b="` + strings.Repeat("x", 900), tail: end},
		{name: "ends without starts", head: channel, unit: "</a:b>", tail: end, want: "too many elements"},
		{name: "items without ends", head: channel, unit: "<item><title>" + strings.Repeat("x", 900), tail: end},
		{name: "references to control characters", head: channel + "<item><title>", unit: "&#8;", tail: "</title></item>" + end},
		{name: "references that are long", head: channel + "<item><title>", unit: "&#000000000000000000000000000000", tail: "</title></item>" + end},
		{name: "HTML ends", head: channel + "<item><title>", unit: "&lt;/B&gt;", tail: "</title></item>" + end},
		{name: "items with HTML ends", head: channel, unit: "<item><title>" + strings.Repeat("&lt;/B&gt;x&lt;b&gt;", 100) + "</title></item>", tail: end},
		{name: "HTML tags that may be text", head: channel + "<item><title>", unit: "&lt;b ", tail: "</title></item>" + end},
		{name: "a web page", head: "<html>", unit: `<link rel="alternate" type="application/rss+xml" href="x:`, tail: "", want: "a web page"},
		{name: "links of a web page", head: "<html>", unit: `<link rel="alternate" type="application/rss+xml" href="x:">`, tail: "", want: "a web page"},
		{name: "JSON items that are no JSON", head: jsonHead, unit: `{"a":\q` + strings.Repeat("x", 900) + `},`, tail: "]}"},
		{name: "spaces", head: "", unit: " ", want: "not a feed"},
		{name: "control characters", head: channel, unit: "\x01", tail: end},
		{name: "zero bytes", head: "", unit: "\x00", want: "not a feed"},
		{name: "bytes that are not UTF-8", head: channel, unit: "\xff", tail: end, want: "larger than 8 MiB"},
		{name: "Latin-1", head: `<?xml version="1.0" encoding="iso-8859-1"?>` + channel, unit: "\x80", tail: end, want: "larger than 8 MiB"},
		{name: "Chinese in UTF-16", head: channel, unit: "語", tail: end, encode: utf16le, want: "larger than 8 MiB"},
		{name: "JSON text", head: jsonHead + `{"id":"1","content_html":"`, unit: `\u00e9`, tail: `"}]}`},
		{name: "JSON bytes that are not UTF-8", head: jsonHead + `{"id":"1","content_html":"`, unit: "\xff", tail: `"}]}`},
		{name: "JSON some bytes that are not UTF-8", head: jsonHead + `{"id":"1","content_html":"` + strings.Repeat("\x01\xff\x01", 100), unit: "xx", tail: `"}]}`},
		{name: "JSON ampersands", head: jsonHead + `{"id":"1","content_html":"`, unit: "<b>&a", tail: `"}]}`},
		{name: "JSON items", head: jsonHead + "null", unit: `,{"id":1,"title":"` + strings.Repeat("&a", 2_000) + `"}`, tail: "]}"},
		{name: "JSON names that are long", head: `{"items":[],"`, unit: "x", tail: `":1}`, want: "a name of too many bytes"},
		{name: "JSON number", head: jsonHead + `{"id":"1","title":`, unit: "1", tail: "}]}"},
		{name: "JSON id", head: jsonHead + `{"id":`, unit: "1", tail: "}]}"},
		{name: "long version", head: `<?xml version="`, unit: "1", tail: `"?>`, want: "an instruction of too many bytes"},
		{name: "encoded content", head: atom + `<entry><id>1</id><content type="image/png">`, unit: base64.StdEncoding.EncodeToString(make([]byte, 3)), tail: "</content></entry></feed>"},
	}
}
