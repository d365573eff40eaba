package webfeed

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct{ fragment, want string }{
		{"plain text", "plain text"},
		{" spaces \t and\u00a0more ", "spaces and more"},
		{"one\r\n\r\n two ", "one\ntwo"},
		{"<p>one</p><P class=x>two</P>three", "one\ntwo\nthree"},
		{"<td>one<td>two", "one two"},
		{"<b>bold</b>ed", "bolded"},
		{"one<br/>two<br / >three", "one\ntwo\nthree"},
		{"a &amp; b &copy 2020 &lt;b&gt; &bogus;", "a & b © 2020 <b> &bogus;"},
		{"It&#146;s It\u0092s \u0080 \u0081", "It’s It’s € \u0081"},
		{"1 < 2 > 3 <3", "1 < 2 > 3 <3"},
		{`<a href="x>y">z</a> <a title=it's>z</a>`, "z z"},
		{"<!-- a > b -->c<!-->d<!doctype e>f<?g h?>i</>j</ k>l", "cdfijl"},
		{"<script>a</b></script>c<SCRIPT src=x>y</Script >z", "cz"},
		{"<style>x</style>y<script>z", "y"},
		{"one<a href='", "one"},
		{"one<p", "one"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := text(tt.fragment, asHTML); got != tt.want {
			t.Errorf("text of %q = %q, want %q", tt.fragment, got, tt.want)
		}
	}
	if got := len(text(strings.Repeat("x", maxText+1), asHTML)); got != maxText {
		t.Errorf("a long text keeps %d bytes, want %d", got, maxText)
	}
}
