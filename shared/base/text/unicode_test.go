package text_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"orgops/shared/base/text"
)

func TestNotUnicodeAt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		document string
		want     string // pointer; "-": the document is valid Unicode
	}{
		{`{"a":"plain"}`, "-"},
		{`{"a":"\ud83d\ude00 \uD83D\uDE00","b":"\u0000\uffff"}`, "-"},
		{`{"a":"a backslash, not an escape: \\ud800"}`, "-"},
		{`{"a":"an escaped one: \\\ud83d\ude00"}`, "-"},
		{`{"a":"\ud800"}`, "/a"},
		{`{"a":"\uDFFF"}`, "/a"},
		{`{"a":"\ude00\ud83d"}`, "/a"},
		{`{"a":"\ud83dx"}`, "/a"},
		{`{"a":"\ud83d\u0041"}`, "/a"},
		{`{"a":"\ud83d\ud83d\ude00"}`, "/a"},
		{`{"a":"\\\ud800"}`, "/a"},
		{`{"a":[1,{"b/c":["x",["\ud800"]]}]}`, "/a/1/b~1c/1/0"},
		{`{"ok":{"x":1},"list":[[],{},null,"\udc00"],"later":"\ud800"}`, "/list/3"},
		{`{"a":1,"k\ud800":2}`, "/k\ufffd"},
		{`"\ud800"`, ""},
		{`["\ud800"]`, "/0"},
		{"{\"a\":\"\xff\"}", "/a"},
		{"{\"a\":{},\"b\":[\"\xed\xa0\x80\"]}", "/b/0"},
	}
	for _, tt := range tests {
		got := "-"
		if !text.IsUnicode([]byte(tt.document)) {
			got = text.NotUnicodeAt([]byte(tt.document))
		}
		if got != tt.want {
			t.Errorf("%q: not valid at %q, want %q", tt.document, got, tt.want)
		}
	}
}

// FuzzIsUnicode compares with encoding/json: of a valid document, each text comes back as it was, so none has U+FFFD unless the document has it.
func FuzzIsUnicode(f *testing.F) {
	for _, document := range []string{`"\ud800"`, `"\ud83d\ude00"`, `"\\ud800"`, `{"\udc00":["\ud8000"]}`, "\"\xff\"", `"\uD83D\uD83D\uDE00"`} {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		var v any
		if json.Unmarshal(document, &v) != nil || strings.Contains(string(document), "\ufffd") || strings.Contains(strings.ToLower(string(document)), `\ufffd`) {
			return
		}
		plain, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		lost := bytes.ContainsRune(plain, utf8.RuneError) || bytes.Contains(plain, []byte(`\ufffd`))
		if got := text.IsUnicode(document); got == lost {
			t.Errorf("%q: IsUnicode = %t, but decoding loses text: %t", document, got, lost)
		}
	})
}

// BenchmarkIsUnicode measures what every received document pays.
func BenchmarkIsUnicode(b *testing.B) {
	document := []byte(`{"body":"` + strings.Repeat(`a line of text\n`, 1000) + `"}`)
	b.SetBytes(int64(len(document)))
	for b.Loop() {
		if !text.IsUnicode(document) {
			b.Fatal("not valid")
		}
	}
}
